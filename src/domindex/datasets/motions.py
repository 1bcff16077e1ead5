"""Pictures and signals that move from domain to domain: seeded, from digits that are at hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.linalg import expm
from sklearn.datasets import load_digits

from domindex.arrays import Floats
from domindex.datasets.checks import Seed, check_count, check_noise, check_seed
from domindex.datasets.dataset import DomainDataset
from domindex.datasets.files import DataHome
from domindex.datasets.real import load_real_dataset
from domindex.errors import InputError

BRIGHTEST = 16.0
MNIST_BRIGHTEST = 255.0

Motion = Callable[[float], Floats]


def _linear(matrix: list[list[float]], shift: tuple[float, float] = (0.0, 0.0)) -> Motion:
    """t from 0 to 1 to exp(t · generator), homogeneous, in half sides."""
    generator = np.zeros((3, 3))
    generator[:2, :2], generator[:2, 2] = matrix, shift
    return lambda t: expm(t * generator)


MOTIONS: dict[str, Motion] = {
    "turn": _linear([[0.0, np.pi / 2], [-np.pi / 2, 0.0]]),
    "zoom": _linear([[-np.log(2.0), 0.0], [0.0, -np.log(2.0)]]),
    "shear": _linear([[0.0, 0.0], [1.0, 0.0]]),
    "shift": _linear([[0.0, 0.0], [0.0, 0.0]], (0.3, -0.5)),
    "brightness": _linear([[0.0, 0.0], [0.0, 0.0]]),
}
"""Where pictures end, having started half way back: turned by 90 degrees, twice the size, slanted
by one, moved by a quarter of the width (and some of the height), or as they were."""

LAST_GAIN, LAST_OFFSET = 0.35, 0.5
"""Of `brightness`: contrast falls to this share, and that much of the range is added."""


def make_moving_digits(
    motion: str = "zoom",
    *,
    n_domains: int = 12,
    n_sources: int = 4,
    random_state: Seed = 0,
) -> DomainDataset:
    """scikit-learn's 8 by 8 digits, dealt to domains that move on along one `motion`.

    Motions are "turn", "zoom", "shear", "shift" and "brightness". Every picture appears in one
    domain only; the first `n_sources` are labelled.

    Examples
    --------
    >>> from domindex.datasets import make_moving_digits
    >>> make_moving_digits("shift")
    DomainDataset('digits-shift': classification, X (1797, 8, 8), 12 domains, 4 of them sources)
    """
    images, labels = load_digits(return_X_y=True)
    pictures = images.reshape(-1, 8, 8) / BRIGHTEST
    return _moved("digits", motion, pictures, labels, n_domains, n_sources, random_state)


def load_moving_mnist(
    motion: str = "zoom",
    *,
    n_domains: int = 12,
    n_sources: int = 4,
    data_home: DataHome = None,
    random_state: Seed = 0,
) -> DomainDataset:
    """As `make_moving_digits`, of the 28 by 28 digits of "rotating-mnist", turned upright first.

    Examples
    --------
    >>> from domindex.datasets import load_moving_mnist
    >>> load_moving_mnist("jump")
    Traceback (most recent call last):
    domindex.errors.InputError: motion is 'jump'. Choose one of ('turn', 'zoom', ...
    """
    _check_motion(motion)
    dataset = load_real_dataset("rotating-mnist", data_home)
    assert dataset.true_index is not None
    angles = dict(zip(dataset.domains, np.deg2rad(dataset.true_index[:, 0])))
    upright = np.empty(dataset.X.shape)
    for name, angle in angles.items():
        rows = dataset.sample_domain == name
        cosine, sine = np.cos(angle), np.sin(angle)
        back = np.array([[cosine, -sine], [sine, cosine]])
        upright[rows] = _draw(dataset.X[rows] / MNIST_BRIGHTEST, back, np.zeros(2), order=3)
    upright = np.clip(upright, 0.0, 1.0)
    return _moved("mnist", motion, upright, dataset.y, n_domains, n_sources, random_state)


def make_moving_waves(
    *,
    n_domains: int = 12,
    n_sources: int = 4,
    samples_per_domain: int = 120,
    length: int = 64,
    noise: float = 0.1,
    random_state: Seed = 0,
) -> DomainDataset:
    """Signals (rows, length, 1) of five shapes, which stretch, shift and grow along the domains.

    A shape is one pulse, two, a pulse and its negative, a ramp, or a burst of waves, drawn with
    random widths, places and heights. Time is stretched by up to 1.8 and shifted by up to a fifth
    of the window, the gain goes from 1 to 2 and noise is added: the first `n_sources` are labelled.

    Examples
    --------
    >>> from domindex.datasets import make_moving_waves
    >>> make_moving_waves().X.shape
    (1440, 64, 1)
    """
    n_domains = check_count("n_domains", n_domains, low=2)
    n_sources = check_count("n_sources", n_sources, low=1, high=n_domains - 1)
    size = check_count("samples_per_domain", samples_per_domain, low=1)
    length = check_count("length", length, low=8)
    noise, rng = check_noise(noise, zero_allowed=True), check_seed(random_state)
    progress = np.repeat(np.linspace(0.0, 1.0, n_domains), size)
    labels = rng.integers(5, size=len(progress))
    time = (np.arange(length) + 0.5) / length * 2 - 1
    moved = (time - (0.4 * progress - 0.2)[:, None]) / (0.7 * 1.8 ** progress[:, None])
    signals = _waves(moved, labels, rng) * (2.0 ** progress[:, None])
    signals = signals + noise * rng.normal(size=signals.shape)
    return _dataset("waves", signals[:, :, None], labels, progress, n_domains, n_sources)


def _waves(time: Floats, labels: NDArray, rng: np.random.Generator) -> Floats:
    """(rows, length), each of its class, at (rows, length) times."""
    jitter = rng.normal(size=(4, len(time), 1))
    place, width = 0.05 * jitter[0], 0.12 * np.exp(0.15 * jitter[1])
    height, apart = np.exp(0.15 * jitter[2]), 0.25 * np.exp(0.1 * jitter[3])

    def pulse(at: Floats | float) -> Floats:
        return np.exp(-0.5 * ((time - place - at) / width) ** 2)

    first, second = pulse(-apart), pulse(apart)
    ramp = np.clip((time - place) / 0.6 + 0.5, 0.0, 1.0) * (np.abs(time - place) < 0.45)
    burst = np.exp(-0.5 * ((time - place) / 0.25) ** 2) * np.sin(2 * np.pi * (time - place) / 0.22)
    shapes = np.stack([pulse(0.0), first + second, first - second, ramp, burst])
    return height * shapes[labels, np.arange(len(labels))]


def _check_motion(motion: str) -> None:
    if motion not in MOTIONS:
        raise InputError(f"motion is {motion!r}. Choose one of {tuple(MOTIONS)}.")


def _moved(
    name: str,
    motion: str,
    pictures: Floats,
    labels: NDArray,
    n_domains: int,
    n_sources: int,
    random_state: Seed,
) -> DomainDataset:
    _check_motion(motion)
    n_domains = check_count("n_domains", n_domains, low=2, high=len(pictures))
    n_sources = check_count("n_sources", n_sources, low=1, high=n_domains - 1)
    order = check_seed(random_state).permutation(len(pictures))
    hands = np.array_split(order, n_domains)
    steps = np.linspace(0.0, 1.0, n_domains)
    drawn = []
    for rows, step in zip(hands, steps):
        map_ = MOTIONS[motion](step - 0.5)
        moved = _draw(pictures[rows], map_[:2, :2], map_[:2, 2])
        if motion == "brightness":
            moved = moved * LAST_GAIN**step + LAST_OFFSET * step
        drawn.append(moved)
    progress = np.repeat(steps, [len(rows) for rows in hands])
    X, y = np.concatenate(drawn), labels[order]
    return _dataset(f"{name}-{motion}", X, y, progress, n_domains, n_sources)


def _draw(pictures: Floats, matrix: Floats, shift: Floats, order: int = 1) -> Floats:
    """Pictures (n, height, width) as seen at matrix · position + shift, in half sides."""
    sides = np.array(pictures.shape[1:])
    middle = (sides - 1) / 2
    offset = middle + shift * sides / 2 - matrix @ middle
    return np.stack(
        [ndimage.affine_transform(one, matrix, offset, order=order) for one in pictures]
    )


def _dataset(
    name: str,
    X: Floats,
    y: NDArray,
    progress: Floats,
    n_domains: int,
    n_sources: int,
) -> DomainDataset:
    numbers = np.unique(progress, return_inverse=True)[1]
    return DomainDataset(
        name=name,
        X=X,
        y=y,
        sample_domain=numbers,
        source_domains=list(range(n_sources)),
        domains=list(range(n_domains)),
        task="classification",
        true_index=np.arange(n_domains, dtype=float)[:, None],
        index_names=("position",),
        graph=None,
        description="Rows that move on from domain to domain; the first domains are labelled.",
    )
