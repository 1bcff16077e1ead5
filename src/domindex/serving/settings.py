"""Where a run is served, and how much is taken from whoever reaches it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from domindex.errors import InputError

MEGABYTE = 1_000_000
MOST_MEGABYTES = 200
"""What a page may be asked to take at once; larger tables are read in parts by `predict_table`."""

FORM_ROOM = 100_000
"""Bytes of a request besides the table: the other fields of the form, and what stands between."""


@dataclass(frozen=True)
class ServeSettings:
    """What `serve_run` was asked for.

    Attributes
    ----------
    host : the address to listen at; loopback is reached from this machine only
    port : the port to listen at; 0 takes a free one
    max_upload : the largest table that is taken, in MB
    max_rows : the most rows of a table. Predictions are held in memory until they are sent
    max_domains : the most domains of a table, each of which is placed on the map
    allow_hosts : names besides the address itself by which browsers may reach the page
    upload_seconds : how long a table may take to arrive
    most_waiting : tables that may be under way at a time; one is predicted, the others wait

    Examples
    --------
    >>> from domindex.serving import ServeSettings
    >>> ServeSettings(max_upload=10).host
    '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: int = 8700
    max_upload: float = 50.0
    max_rows: int = 200_000
    max_domains: int = 2_000
    allow_hosts: tuple[str, ...] = ()
    upload_seconds: float = 120.0
    most_waiting: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.max_upload <= MOST_MEGABYTES:
            raise InputError(
                f"max_upload is {self.max_upload} MB. Choose more than 0 and at most "
                f"{MOST_MEGABYTES}; `domindex predict` takes tables of any size."
            )
        if not 0 <= self.port <= 65535:
            raise InputError(f"port is {self.port}. Choose 0 to 65535; 0 takes a free one.")
        for name in ("max_rows", "max_domains", "upload_seconds", "most_waiting"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} is {getattr(self, name)}. Choose more than 0.")

    @property
    def max_bytes(self) -> int:
        """Of a table."""
        return int(self.max_upload * MEGABYTE)

    @property
    def max_body(self) -> int:
        """Of a request."""
        return self.max_bytes + FORM_ROOM


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    Examples
    --------
    >>> from domindex.serving.settings import is_loopback
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
