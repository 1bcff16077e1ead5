"""Digits of MNIST and drawn signals that move from domain to domain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.datasets import DomainDataset
from domindex.datasets.dataset import Seed, check_count, check_noise, check_seed
from domindex.datasets.digits import along_a_line, draw_moved, move_pictures
from domindex.datasets.files import DataHome
from domindex_bench.data.real import load_real_dataset


def load_moving_mnist(motion: str, data_home: DataHome, seed: int) -> DomainDataset:
    """As `make_moving_digits`, of the 28 by 28 digits of "rotating-mnist", turned upright first."""
    dataset = load_real_dataset("rotating-mnist", data_home)
    assert dataset.true_index is not None
    angles = dict(zip(dataset.domains, np.deg2rad(dataset.true_index[:, 0])))
    upright = np.empty(dataset.X.shape)
    for name, angle in angles.items():
        rows = dataset.sample_domain == name
        cosine, sine = np.cos(angle), np.sin(angle)
        back = np.array([[cosine, -sine], [sine, cosine]])
        upright[rows] = draw_moved(dataset.X[rows] / 255.0, back, np.zeros(2), order=3)
    upright = np.clip(upright, 0.0, 1.0)
    return move_pictures("mnist", motion, upright, dataset.y, 12, 4, seed)


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
    """
    n_domains = check_count("n_domains", n_domains, low=2)
    n_sources = check_count("n_sources", n_sources, low=1, high=n_domains - 1)
    size = check_count("samples_per_domain", samples_per_domain, low=1)
    length = check_count("length", length, low=8)
    noise, rng = check_noise(noise, zero_allowed=True), check_seed(random_state)
    of_row = np.repeat(np.arange(n_domains), size)
    progress = np.linspace(0.0, 1.0, n_domains)[of_row]
    labels = rng.integers(5, size=len(progress))
    time = (np.arange(length) + 0.5) / length * 2 - 1
    moved = (time - (0.4 * progress - 0.2)[:, None]) / (0.7 * 1.8 ** progress[:, None])
    signals = _waves(moved, labels, rng) * (2.0 ** progress[:, None])
    signals = signals + noise * rng.normal(size=signals.shape)
    return along_a_line("waves", signals[:, :, None], labels, of_row, n_sources)


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
