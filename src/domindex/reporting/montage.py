"""A small picture of every domain whose rows are pictures."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.errors import InputError
from domindex.inputs import check_inputs, group_rows
from domindex.neural.builtin_backbones import picture_axes

Colours = NDArray[np.uint8]
Kind = Literal["nearest", "mean"]

DATA_URI = "data:image/png;base64,"


def are_pictures(row_shape: tuple[int, ...]) -> bool:
    """Whether rows of this shape are (H, W), (H, W, C) or (C, H, W) rather than signals."""
    if len(row_shape) not in (2, 3):
        return False
    try:
        short, long = sorted(picture_axes(row_shape)[0][1:])
    except InputError:
        return False
    return short >= 6 and long <= 4.0 * short  # signals have few channels beside a long time


def domain_pictures(
    X: Any, names: Sequence[Hashable], domains: Sequence[Hashable], kind: Kind = "nearest"
) -> Colours:
    """(domains, height, width, 3): of each the row nearest to its mean, or the mean itself."""
    inputs = check_inputs(X)
    if not are_pictures(inputs.shape[1:]):
        raise InputError(
            f"X has rows of shape {inputs.shape[1:]}, which are no pictures. Pass (rows, H, W), "
            "(rows, H, W, C) or (rows, C, H, W), with up to four channels."
        )
    if kind not in ("nearest", "mean"):
        raise InputError(f"kind is {kind!r}. Choose 'nearest' or 'mean'.")
    groups = dict(group_rows(names, len(inputs)))
    missing = [name for name in domains if name not in groups]
    if missing:
        raise InputError(f"There is no row of the domain {missing[0]!r} in sample_domain.")
    pictures = np.stack([_typical(inputs[groups[name]], kind) for name in domains])
    (channels, _, _), order = picture_axes(pictures.shape[1:])
    if pictures.ndim == 3:
        pictures = pictures[..., None]
    else:
        pictures = pictures.transpose(0, *(1 + order[axis] for axis in (1, 2, 0)))
    pictures = pictures[..., :3] if channels >= 3 else np.repeat(pictures[..., :1], 3, axis=-1)
    low, high = float(pictures.min()), float(pictures.max())  # one brightness for all
    return (255.0 * (pictures - low) / ((high - low) or 1.0)).round().astype(np.uint8)


def _typical(rows: NDArray, kind: Kind) -> Floats:
    mean = rows.mean(axis=0, dtype=np.float64)
    if kind == "mean":
        return mean
    away = ((rows - mean) ** 2).reshape(len(rows), -1).sum(axis=1)
    return np.asarray(rows[int(away.argmin())], dtype=np.float64)


def picture_uri(picture: Colours, max_bytes: int = 2000) -> str:
    """A picture (height, width, 3) as the address that holds it as a PNG, smaller until it fits."""
    height, width = picture.shape[:2]
    content = b""
    for side in (40, 32, 24, 16, 8):
        share = min(1.0, side / max(height, width))
        size = (max(1, round(share * height)), max(1, round(share * width)))
        down, across = _areas(height, size[0]), _areas(width, size[1])
        small = np.einsum("hi,ijc,wj->hwc", down, picture.astype(np.float64), across, optimize=True)
        # in steps of eight 255ths, which few eyes see and which halves the bytes
        stepped = (small.round().astype(np.int64) + 4) // 8 * 8
        content = png_bytes(np.minimum(stepped, 255).astype(np.uint8))
        if len(content) <= max_bytes:
            break
    return DATA_URI + base64.b64encode(content).decode("ascii")


def spread_out(points: Floats, most: int = 60) -> list[int]:
    """At most so many points by number: the first, then always the farthest from those chosen."""
    chosen = [0]
    away = np.linalg.norm(points - points[0], axis=1)
    away[0] = -1.0  # also where others lie on the same place
    while len(chosen) < min(most, len(points)):
        chosen.append(int(away.argmax()))
        away = np.minimum(away, np.linalg.norm(points - points[chosen[-1]], axis=1))
        away[chosen] = -1.0
    return sorted(chosen)


def png_bytes(picture: Colours) -> bytes:
    """(height, width, 3) as a PNG file; grey ones take a third of it."""
    height, width = picture.shape[:2]
    is_grey = bool((picture == picture[..., :1]).all())
    pixels = picture[..., :1] if is_grey else picture
    before = np.pad(pixels, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    lines = (pixels - before).reshape(height, -1)  # filter 1: each pixel less the one left of it
    raw = np.hstack([np.ones((height, 1), np.uint8), lines]).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if is_grey else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    file = b"\x89PNG\r\n\x1a\n"
    for name, content in parts:
        check = zlib.crc32(name + content)
        file += struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
    return file


def _areas(n_in: int, n_out: int) -> Floats:
    """(n_out, n_in) shares of the old pixels in each new one; rows sum to 1."""
    edges = np.linspace(0.0, n_in, n_out + 1)
    pixels = np.arange(n_in)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    shares = overlap.clip(0.0)
    return shares / shares.sum(axis=1, keepdims=True)
