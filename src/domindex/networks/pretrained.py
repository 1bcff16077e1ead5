"""Weights that somebody published, from a file on this machine: no download, and no code is run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.persistence.paths import usable_path

KINDS = (".safetensors", ".pth", ".pt", ".bin")


def load_weights(network: nn.Module, path: str | os.PathLike[str], what: str) -> None:
    """Fill `network` from a file of tensors by name; InputError where they are not its own.

    Names in `network.left_out` are passed over. `what` names the network in messages.
    """
    found = _read(usable_path(path))
    left_out = getattr(network, "left_out", ())
    found = {name: value for name, value in found.items() if name not in left_out}
    expected = network.state_dict()
    counters = {name for name in expected if name.endswith("num_batches_tracked")}
    missing = [name for name in expected if name not in found and name not in counters]
    unexpected = [name for name in found if name not in expected]
    if missing or unexpected:
        raise InputError(
            f"{path} does not hold the weights of {what}: {len(missing)} names are missing "
            f"({preview(missing) or 'none'}), {len(unexpected)} are unexpected "
            f"({preview(unexpected) or 'none'}). Give the file of a state_dict of {what}."
        )
    odd = [name for name in found if found[name].shape != expected[name].shape]
    if odd:
        raise InputError(
            f"{path} holds {odd[0]!r} of shape {tuple(found[odd[0]].shape)}, and {what} for these "
            f"inputs has {tuple(expected[odd[0]].shape)}. Give weights for inputs of this shape."
        )
    lost = [name for name in found if not torch.isfinite(found[name]).all()]
    if lost:
        raise InputError(f"{path} holds NaN or infinity in {preview(lost, 3)}. Copy it again.")
    network.load_state_dict(found, strict=False)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise InputError(
            f"There is no file {path}. domindex downloads no weights: save a state_dict there, "
            "for example with torch.save(model.state_dict(), path)."
        )
    if path.suffix not in KINDS:
        raise InputError(f"{path} is none of {', '.join(KINDS)}. Give a file of weights.")
    try:
        held = _safetensors(path) if path.suffix == KINDS[0] else _checkpoint(path)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{path} cannot be read as weights ({type(error).__name__}: {str(error)[:200]}). "
            "Save a plain state_dict of tensors: nothing else is opened."
        ) from error
    if not isinstance(held, Mapping) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in held.items()
    ):
        raise InputError(
            f"{path} holds a {type(held).__name__} that is no state_dict of tensors by name. "
            "Save model.state_dict(), not the model or a checkpoint around it."
        )
    return dict(held)


def _safetensors(path: Path) -> Any:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(error) from error


def _checkpoint(path: Path) -> Any:
    return torch.load(path, map_location="cpu", weights_only=True)
