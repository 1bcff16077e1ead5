"""scikit-learn's handwritten digits, moved from domain to domain: pictures, offline and small."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.linalg import expm
from sklearn.datasets import load_digits

from domindex.arrays import Floats
from domindex.datasets.dataset import (
    DomainDataset,
    Seed,
    check_count,
    check_seed,
    classification_dataset,
)
from domindex.errors import InputError

Motion = Callable[[float], Floats]


def _motion(matrix: list[list[float]], shift: tuple[float, float] = (0.0, 0.0)) -> Motion:
    """t from 0 to 1 to exp(t · generator), homogeneous, in half sides of the picture."""
    generator = np.zeros((3, 3))
    generator[:2, :2], generator[:2, 2] = matrix, shift
    return lambda t: expm(t * generator)


MOTIONS: dict[str, Motion] = {
    "turn": _motion([[0.0, np.pi / 2], [-np.pi / 2, 0.0]]),
    "zoom": _motion([[-np.log(2.0), 0.0], [0.0, -np.log(2.0)]]),
    "shear": _motion([[0.0, 0.0], [1.0, 0.0]]),
    "shift": _motion([[0.0, 0.0], [0.0, 0.0]], (0.3, -0.5)),
    "brightness": _motion([[0.0, 0.0], [0.0, 0.0]]),
}
"""From the first domain to the last: turned by 90 degrees, twice the size, slanted by one, moved by
a quarter of the width (and some of the height), or of less contrast in the same place."""


def load_rotating_digits() -> DomainDataset:
    """X (1797, 1, 8, 8) in [0, 1], y the digit, domains the angle in degrees.

    The index has a period of 180: at this size a digit upside down looks like a digit.
    """
    pictures, labels = _digits()
    angles = list(range(0, 180, 10))
    order = np.random.default_rng(0).permutation(len(pictures))
    hands = np.array_split(order, len(angles))
    turned = [
        ndimage.rotate(pictures[rows], angle, axes=(2, 1), reshape=False, order=1)
        for rows, angle in zip(hands, angles, strict=True)
    ]
    return DomainDataset(
        name="rotating-digits",
        X=np.concatenate(turned)[:, None],
        y=labels[order],
        sample_domain=np.repeat(angles, [len(rows) for rows in hands]),
        source_domains=angles[:5],
        domains=angles,
        task="classification",
        true_index=np.array(angles, dtype=float)[:, None],
        index_names=("angle",),
        graph=None,
        description=(
            "The 1,797 handwritten digits of 8 by 8 pixels that come with scikit-learn, dealt at "
            "random to 18 domains; domain a is turned anticlockwise by a degrees, 0 to 170. The "
            "five least turned are sources."
        ),
        period=180.0,
    )


def make_moving_digits(
    motion: str = "zoom", *, n_domains: int = 12, n_sources: int = 4, random_state: Seed = 0
) -> DomainDataset:
    """scikit-learn's 8 by 8 digits, dealt to domains that move on along one `motion`.

    Motions are "turn", "zoom", "shear", "shift" and "brightness". Every picture appears in one
    domain only; the first `n_sources` are labelled.

    Examples
    --------
    >>> make_moving_digits("shift")
    DomainDataset('digits-shift': classification, X (1797, 8, 8), 12 domains, 4 of them sources)
    """
    pictures, labels = _digits()
    return move_pictures("digits", motion, pictures, labels, n_domains, n_sources, random_state)


def _digits() -> tuple[Floats, NDArray]:
    """(1797, 8, 8) pictures in [0, 1] and their digits."""
    images, labels = load_digits(return_X_y=True)
    return images.reshape(-1, 8, 8) / 16.0, labels


def move_pictures(
    name: str,
    motion: str,
    pictures: Floats,
    labels: NDArray,
    n_domains: int,
    n_sources: int,
    random_state: Seed,
) -> DomainDataset:
    """Pictures (n, height, width) dealt to domains, each moved further along `motion`."""
    if motion not in MOTIONS:
        raise InputError(f"motion is {motion!r}. Choose one of {tuple(MOTIONS)}.")
    n_domains = check_count("n_domains", n_domains, low=2, high=len(pictures))
    n_sources = check_count("n_sources", n_sources, low=1, high=n_domains - 1)
    order = check_seed(random_state).permutation(len(pictures))
    hands = np.array_split(order, n_domains)
    drawn = []
    for rows, step in zip(hands, np.linspace(0.0, 1.0, n_domains)):
        map_ = MOTIONS[motion](step - 0.5)
        moved = draw_moved(pictures[rows], map_[:2, :2], map_[:2, 2])
        if motion == "brightness":
            moved = moved * 0.35**step + 0.5 * step
        drawn.append(moved)
    of_row = np.repeat(np.arange(n_domains), [len(rows) for rows in hands])
    return along_a_line(f"{name}-{motion}", np.concatenate(drawn), labels[order], of_row, n_sources)


def draw_moved(pictures: Floats, matrix: Floats, shift: Floats, order: int = 1) -> Floats:
    """Pictures (n, height, width) as seen at matrix · position + shift, in half sides."""
    sides = np.array(pictures.shape[1:])
    middle = (sides - 1) / 2
    offset = middle + shift * sides / 2 - matrix @ middle
    moved = [ndimage.affine_transform(one, matrix, offset, order=order) for one in pictures]
    return np.stack(moved)


def along_a_line(
    name: str, X: Floats, y: NDArray, of_row: NDArray, n_sources: int
) -> DomainDataset:
    """A dataset whose domains are numbered along a line, the first of them labelled."""
    return classification_dataset(
        name=name,
        X=X,
        y=y,
        sample_domain=of_row,
        source_domains=range(n_sources),
        true_index=np.arange(of_row.max() + 1.0)[:, None],
        index_names=("position",),
        graph=None,
        description="Rows that move on from domain to domain; the first domains are labelled.",
    )
