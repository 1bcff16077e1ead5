"""Handwritten digits that turn from domain to domain: images, offline and small."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_digits

from domindex.datasets.dataset import DomainDataset

_ANGLES = list(range(0, 180, 10))
_SOURCES = _ANGLES[:5]
_BRIGHTEST = 16.0
_SEED = 0

_DESCRIPTION = (
    "The 1,797 handwritten digits of 8 by 8 pixels that come with scikit-learn, dealt at random "
    "to 18 domains; domain a is turned anticlockwise by a degrees, 0 to 170. The five least turned "
    "are sources."
)


def load_rotating_digits() -> DomainDataset:
    """X (1797, 1, 8, 8) in [0, 1], y the digit, domains the angle in degrees.

    Every image appears in one domain only, so no target image was seen upright by a source. The
    index has a period of 180 degrees: at this size a digit upside down looks like a digit, and
    inputs alone do not tell 170 degrees from -10.
    """
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8) / _BRIGHTEST
    order = np.random.default_rng(_SEED).permutation(len(images))
    hands = np.array_split(order, len(_ANGLES))
    turned = [
        ndimage.rotate(images[rows], angle, axes=(2, 1), reshape=False, order=1)
        for rows, angle in zip(hands, _ANGLES, strict=True)
    ]
    return DomainDataset(
        name="rotating-digits",
        X=np.concatenate(turned)[:, None],
        y=labels[order],
        sample_domain=np.repeat(_ANGLES, [len(rows) for rows in hands]),
        source_domains=_SOURCES,
        domains=_ANGLES,
        task="classification",
        true_index=np.array(_ANGLES, dtype=float)[:, None],
        index_names=("angle",),
        graph=None,
        description=_DESCRIPTION,
        period=180.0,
    )
