"""Our DANN, CDANN and MDD against skada's, on the same two domains.

skada runs its own losses, batches and gradient reversal on a network of our encoder's shape. Two
things of its release are put right: the default domain classifier ends in a softmax over one
output, which is constant, so a working one is passed in; and MDD's target loss reads every row's
probabilities at the classes of *all* rows, so it is measured as released and also row by row.
Target labels are used to score, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from skada import deep
from skada.deep.modules import GradientReversalLayer
from sklearn.datasets import make_blobs, make_moons
from torch import Tensor, nn

from domindex.baselines import CDANN, DANN, MDD, SourceOnly
from domindex.baselines.networks import PlainEncoder
from domindex.vdi.adversary import reader
from domindex.vdi.networks import ClassPredictor
from domindex_bench.measuring import Found, Measurement

N_SEEDS = 5
N_ROWS = 300
WIDTH, LATENT_DIM, N_CLASSES = 64, 16, 2
SOURCE, TARGET = 1, -2

Rows = tuple[np.ndarray, np.ndarray]


def turned_moons(seed: int) -> tuple[Rows, Rows]:
    """Two half moons, and the same turned by 30 degrees."""
    angle = np.pi / 6
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    X, y = make_moons(N_ROWS, noise=0.1, random_state=seed)
    other, labels = make_moons(N_ROWS, noise=0.1, random_state=seed + 100)
    return (X, y), ((other - other.mean(axis=0)) @ turn + other.mean(axis=0), labels)


def shifted_blobs(seed: int) -> tuple[Rows, Rows]:
    """Two clouds, and the same moved along the line that joins them."""
    centers = np.array([[-2.0, 0.0], [2.0, 0.0]])
    X, y = make_blobs(N_ROWS, centers=centers, random_state=seed)
    other, labels = make_blobs(N_ROWS, centers=centers + [1.5, 1.0], random_state=seed + 100)
    return (X, y), (other, labels)


TASKS: dict[str, Callable[[int], tuple[Rows, Rows]]] = {
    "moons, turned by 30 degrees": turned_moons,
    "blobs, shifted": shifted_blobs,
}


class Network(nn.Module):
    """Our encoder and predictor as one module, as skada wants it."""

    def __init__(self, as_probabilities: bool) -> None:
        super().__init__()
        encoder = PlainEncoder(2, 0, LATENT_DIM, WIDTH)
        self.encoder = nn.Sequential(encoder.first, nn.Tanh(), encoder.rest, encoder.norm)
        self.head = ClassPredictor(LATENT_DIM, N_CLASSES)
        self.as_probabilities = as_probabilities

    def forward(self, x: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        predicted = self.head(self.encoder(x))
        return predicted.probs if self.as_probabilities else predicted.logits


class Reversed(nn.Module):
    """A network behind skada's reversal of gradients."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        return self.network(GradientReversalLayer.apply(x, 1.0)).squeeze(-1)


class Logits(ClassPredictor):
    def forward(self, z: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(z).logits


class RowWise(nn.Module):
    """E[log(1 − p(ŷ))] with every row's own class ŷ, smoothed as skada does."""

    def forward(self, logits: Tensor, labels: Tensor, smoothing: float = 0.1) -> Tensor:
        probabilities = logits.softmax(dim=-1).gather(-1, labels[:, None])
        smooth = (1 - smoothing) * probabilities + smoothing / logits.shape[-1]
        return torch.log1p(-smooth).mean()


class LogLoss(nn.Module):
    """Cross-entropy of probabilities."""

    def forward(self, probabilities: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.nll_loss(probabilities.clamp_min(1e-7).log(), labels)


def discriminator(n_inputs: int) -> Reversed:
    return Reversed(nn.Sequential(reader(n_inputs, 1, WIDTH), nn.Sigmoid()))


def skada_net(method: str) -> Any:
    common = {
        "layer_name": "encoder",
        "optimizer": torch.optim.Adam,
        "lr": 3e-3,
        "max_epochs": 50,
        "batch_size": 64,
        "train_split": None,
        "verbose": 0,
    }
    if method == "DANN":
        opponent = discriminator(LATENT_DIM)
        return deep.DANN(Network(False), reg=0.7, domain_classifier=opponent, **common)
    if method == "CDANN":
        opponent = discriminator(LATENT_DIM * N_CLASSES)
        settings = {"reg": 0.7, "domain_classifier": opponent, "base_criterion": LogLoss()}
        return deep.CDAN(Network(True), **settings, **common)
    opponent = Reversed(Logits(LATENT_DIM, N_CLASSES))
    net = deep.MDD(Network(False), reg=0.3, disc_classifier=opponent, **common)
    if method == "MDD":
        loss = deep.MDDLoss()
        loss.disc_criterion_t = RowWise()
        net.set_params(criterion__adapt_criterion=loss)
    return net


OURS = {"DANN": DANN, "CDANN": CDANN, "MDD": MDD, "MDD as released": MDD}


def together(rows: tuple[Rows, Rows]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised inputs, labels with targets hidden, and domains, of both."""
    (X, y), (other, _) = rows
    both = np.concatenate([X, other])
    scaled = ((both - both.mean(axis=0)) / both.std()).astype(np.float32)
    labels = np.concatenate([y, np.full(len(other), -1)])
    return scaled, labels, np.repeat([SOURCE, TARGET], [len(X), len(other)])


def ours(method: type, rows: tuple[Rows, Rows], seed: int) -> float:
    X, y, domains = together(rows)
    model = method(random_state=seed).fit(X, y, sample_domain=domains)
    target = domains == TARGET
    return model.score(X[target], rows[1][1], sample_domain=domains[target])


def theirs(method: str, rows: tuple[Rows, Rows], seed: int) -> float:
    X, y, domains = together(rows)
    torch.manual_seed(seed)
    net = skada_net(method)
    net.fit(X, y, sample_domain=domains)
    target = domains == TARGET
    predicted = net.predict(X[target], sample_domain=domains[target], allow_source=True)
    return float(np.mean(predicted == rows[1][1]))


def spread(scores: list[float]) -> Found:
    return {
        "mean": round(100 * float(np.mean(scores)), 2),
        "deviation": round(100 * float(np.std(scores)), 2),
        "seeds": [round(100 * score, 2) for score in scores],
    }


def measure(task: str, method: str, n_seeds: int = N_SEEDS) -> Found:
    """Target accuracy, %, of one method on one task: ours and skada's."""
    rows = [TASKS[task](seed) for seed in range(n_seeds)]
    return {
        "ours": spread([ours(OURS[method], rows[seed], seed) for seed in range(n_seeds)]),
        "skada": spread([theirs(method, rows[seed], seed) for seed in range(n_seeds)]),
    }


def measure_task(task: str) -> Found:
    rows = [TASKS[task](seed) for seed in range(N_SEEDS)]
    alone = spread([ours(SourceOnly, rows[seed], seed) for seed in range(N_SEEDS)])
    return {"source only": alone, **{method: measure(task, method) for method in OURS}}


MEASUREMENT = Measurement({task: partial(measure_task, task) for task in TASKS})
