"""What a fit is determined by, so that only the same fit goes on from a checkpoint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from domindex.inputs import DomainData
from domindex.versions import source_hash, versions

if TYPE_CHECKING:
    from domindex.estimators.vdi import BaseVDI


def fit_facts(model: BaseVDI, data: DomainData, seed: int) -> dict[str, str]:
    """Everything that determines a fit, as texts by the name that a user knows it by.

    Not among them: parameters that change no result, and `random_state`, which the seed stands for.
    """
    parameters = {
        name: _text(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("verbose", "n_jobs", "random_state")
    }
    return {
        "the estimator": type(model).__name__,
        "the data": data_checksum(data),
        **parameters,
        "the seed": str(seed),
        "the code of domindex": source_hash(),
        **{f"the version of {name}": number for name, number in versions().items()},
    }


def data_checksum(data: DomainData) -> str:
    """Of rows, labels, domains and weights behind the gate."""
    digest = hashlib.blake2b(digest_size=32)
    for field in fields(data):
        value = getattr(data, field.name)
        digest.update(f"{field.name}:".encode())
        if isinstance(value, np.ndarray) and value.dtype != object:
            digest.update(f"{value.dtype}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            plain = value.tolist() if isinstance(value, np.ndarray) else value
            digest.update(_text(plain).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _text(value: Any) -> str:
    """A value by what it says, without its place in memory; networks by their weights."""
    if isinstance(value, nn.Module):
        digest = hashlib.blake2b(repr(value).encode(), digest_size=32)
        for name, tensor in value.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().float().numpy().tobytes())
        return f"{type(value).__name__} {digest.hexdigest()}"
    if isinstance(value, np.ndarray):
        text = str(value.tolist()).encode(errors="surrogatepass")
        return f"array{value.shape} {hashlib.sha256(text).hexdigest()}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        inner = sorted(value.get_params(deep=False).items())
        return f"{type(value).__name__}({', '.join(f'{n}={_text(one)}' for n, one in inner)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "(" + ", ".join(_text(one) for one in value) + ")"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
