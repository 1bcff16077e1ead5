"""Things that users may add to, by name."""

from __future__ import annotations

from typing import Generic, TypeVar

from domindex.data.messages import did_you_mean
from domindex.errors import InputError

Kind = TypeVar("Kind")


class Registry(Generic[Kind]):
    """Names to classes; an unknown name is refused with the list of those there are."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._kinds: dict[str, Kind] = {}

    def add(self, name: str, kind: Kind) -> Kind:
        """Make `kind` known; a second registration of the same name replaces the first."""
        if not isinstance(name, str) or not name or name == "auto":
            raise InputError(
                f"A {self._what} cannot be named {name!r}. Give it a text of its own, not 'auto'."
            )
        self._kinds[name] = kind
        return kind

    def remove(self, name: str) -> None:
        """Forget a name, such as one that a test had added."""
        self[name]
        del self._kinds[name]

    def __getitem__(self, name: str) -> Kind:
        if not isinstance(name, str) or name not in self._kinds:
            hint = did_you_mean(name, self._kinds) if isinstance(name, str) else ""
            raise InputError(
                f"There is no {self._what} {name!r}; there are "
                f"{', '.join(self._kinds) or 'none yet'}. "
                f"{hint or 'Choose one of these, or register your own.'}"
            )
        return self._kinds[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._kinds

    def names(self) -> list[str]:
        return list(self._kinds)
