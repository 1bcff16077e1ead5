"""Reading one picture from a file; every failure names its path."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from domindex.errors import DatasetError, InputError

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP")
"""Formats that are tried, whatever a file calls itself; none of them starts another program."""


def pillow() -> ModuleType:
    """`PIL.Image`, or how to get it."""
    try:
        from PIL import Image
    except ImportError:
        raise DatasetError(
            "Pictures are read with Pillow, which is not installed. "
            "Install it with: pip install 'domindex[pictures]'"
        ) from None
    return Image


def read_picture(path: Path, box: tuple[int, int, int, int], size: int) -> NDArray[np.float32]:
    """The part of a picture inside `box`, as (size, size, 3) colours in [0, 1].

    Parameters
    ----------
    path : of the file
    box : left, top, right, bottom in pixels, counted from 1, all included; what reaches over the
        picture's edge is cut off
    size : height and width that the part is stretched to
    """
    image = pillow()
    try:
        with image.open(path, formats=FORMATS) as opened:
            width, height = opened.size
            colours = opened.convert("RGB")
    except FileNotFoundError:
        raise InputError(f"There is no picture {path}. Put it back, or leave it out.") from None
    except Exception as error:  # Pillow's decoders raise many kinds on damaged files
        raise InputError(
            f"The picture {path} is damaged or no picture ({type(error).__name__}: {error}). "
            "Get it again, or delete it and its label."
        ) from error
    left, top = max(box[0] - 1, 0), max(box[1] - 1, 0)
    right, bottom = min(box[2], width), min(box[3], height)
    if left >= right or top >= bottom:
        raise InputError(
            f"The box {box} of {path} holds nothing of the picture, which has {width} x {height} "
            "pixels. Correct its label."
        )
    small = colours.resize((size, size), image.Resampling.BILINEAR, box=(left, top, right, bottom))
    return np.asarray(small, dtype=np.float32) / np.float32(255.0)
