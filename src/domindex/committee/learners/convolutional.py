"""A small convolutional network as a predictor, for pictures and signals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.arrays import Floats
from domindex.committee.context import one_thread
from domindex.committee.learners.base import LabelledRows, Learner, Predictor, Round
from domindex.errors import InputError
from domindex.geometry.grid_flow import shrink
from domindex.inputs.domain_data import TABLE, InputLayout
from domindex.inputs.standardizing import OutputScaler
from domindex.neural.builtin_backbones import ConvolutionalFeatures
from domindex.neural.rng import TorchRng
from domindex.neural.weights import Sizes, count, network_from_state, network_state
from domindex.persistence.saved import Saved


@dataclass(frozen=True)
class ConvolutionalSettings:
    """Common values for small networks, not tuned. But the size and the steps had the least loss,
    among four, on held-out sources of rotating MNIST; scores of longer training had been seen."""

    max_side: tuple[int, int] = (128, 32)  # cells of signals, of pictures; more are averaged
    steps: int = 150
    batch: int = 64  # rows a step
    rate: float = 3e-3  # the largest learning rate, which rises and falls in one cycle
    decay: float = 1e-2  # of weights
    dropout: float = 0.2  # share of features left out in a step
    smoothing: float = 0.02  # share of a label that is spread over all classes
    shift: tuple[int, int] = (2, 1)  # cells that signals, and pictures, are moved at random
    predicted: int = 512  # rows that are predicted at once; for memory


SETTINGS = ConvolutionalSettings()


class ConvolutionalNetwork(nn.Module):
    """Rows (n, channels, *sides) to (n, outputs)."""

    def __init__(self, input_shape: tuple[int, ...], n_outputs: int) -> None:
        super().__init__()
        self.input_shape, self.n_outputs = tuple(input_shape), n_outputs
        self.features = ConvolutionalFeatures(self.input_shape)
        self.head = nn.Linear(self.features.n_features, n_outputs)

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """In training some features are left out, drawn from the generator."""
        features = self.features(x)
        if self.training:
            share = 1.0 - SETTINGS.dropout
            kept = torch.empty_like(features).bernoulli_(share, generator=generator)
            features = features * kept.div_(share)
        return self.head(features)

    def state(self) -> dict[str, Any]:
        channels, first, *second = self.input_shape
        sizes = {
            "channels": channels,
            "first_side": first,
            "second_side": second[0] if second else 1,
            "is_picture": bool(second),
            "n_outputs": self.n_outputs,
        }
        return network_state(self, sizes)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ConvolutionalNetwork:
        def of_sizes(sizes: Sizes) -> ConvolutionalNetwork:
            shape = [count(sizes, name) for name in ("channels", "first_side", "second_side")]
            return cls(tuple(shape[: 2 + sizes["is_picture"]]), count(sizes, "n_outputs"))

        return network_from_state(of_sizes, state)


@dataclass(frozen=True, eq=False)
class ConvolutionalPredictor(Saved, Predictor):
    """A trained network."""

    kind: ClassVar[str] = "convolutional"
    name: ClassVar[str] = "convolutional"  # type: ignore[misc]
    layout: InputLayout  # how rows are read as pictures or signals
    network: ConvolutionalNetwork  # on the CPU, in double precision
    present: NDArray[np.int64] | None  # (k,) classes that were learned from; None for values
    n_outputs: int  # classes, or values
    outputs: OutputScaler | None  # values from the network's scale; None for classes

    def predict(self, features: Floats) -> Floats:
        grid = _read(features, self.layout)
        with torch.no_grad(), one_thread():
            parts = [
                self.network(torch.from_numpy(grid[start : start + SETTINGS.predicted])).numpy()
                for start in range(0, len(grid), SETTINGS.predicted)
            ]
        raw = np.concatenate(parts) if parts else np.empty((0, self.network.n_outputs))
        if self.outputs is not None:
            return self.outputs.restore(raw)
        assert self.present is not None
        result = np.zeros((len(features), self.n_outputs))
        result[:, self.present] = torch.softmax(torch.from_numpy(raw), dim=1).numpy()
        return result

    def _check_state(self) -> None:
        n_outputs, present, outputs = self.n_outputs, self.present, self.outputs
        blank = np.zeros((1, int(np.prod(self.layout.shape))))
        shape = self.network.input_shape
        if not self.layout.is_grid or _read(blank, self.layout).shape[1:] != shape:
            raise ValueError("the network does not fit the shape of the rows")
        if (n_outputs if present is None else len(present)) != self.network.n_outputs:
            raise ValueError("the network does not fit its outputs")
        if (present is None) == (outputs is None):
            raise ValueError("the network predicts either classes or values")
        if present is not None and (
            len(np.unique(present)) < len(present) or not set(present) <= set(range(n_outputs))
        ):
            raise ValueError(f"the network knows the classes {present}")
        if outputs is not None and len(outputs.offset) != n_outputs:
            raise ValueError("the scale does not fit the outputs")


@dataclass(frozen=True)
class ConvolutionalLearner(Learner):
    """Trains a small convolutional network on the rows it is given, from a seed of its own."""

    rounds: ClassVar[dict[str, Round]] = {"full": Round(5, only_best=True)}
    grids: ClassVar[str] = "only"
    needs_grid: ClassVar[bool] = True
    may_self_train: ClassVar[bool] = False

    layout: InputLayout = TABLE  # how features are read; `for_layout` sets it
    name: str = "convolutional"

    def for_layout(self, layout: InputLayout) -> ConvolutionalLearner:
        """The same for rows of some shape; refused for tables."""
        if not layout.is_grid:
            raise InputError(
                f"The predictor {self.name!r} is for pictures and signals, but rows of shape "
                f"{layout.shape} are read as a table. Say what they are with inputs=, or choose "
                "another predictor."
            )
        return replace(self, layout=layout)

    def fit_rows(self, rows: LabelledRows) -> ConvolutionalPredictor:
        features, labels, n_classes, seed, weights = rows
        if not self.layout.is_grid or features.shape[1] != np.prod(self.layout.shape):
            raise InputError(
                f"The predictor {self.name!r} was given {features.shape[1]} features to read as "
                f"rows of shape {self.layout.shape}. Choose a representation that keeps pictures "
                "and signals as they are: 'raw' or 'grid_flow'."
            )
        inputs = torch.from_numpy(_read(features, self.layout).astype(np.float32))
        present, outputs = None, None
        if n_classes is None:
            outputs = OutputScaler.fit(labels, weights)
            goals = torch.tensor(outputs.apply(labels), dtype=torch.float32)
            size = n_outputs = labels.shape[1]
        else:
            present, numbers = np.unique(labels, return_inverse=True)
            goals, n_outputs, size = torch.from_numpy(numbers), n_classes, len(present)
        row_weights = torch.ones(len(inputs))
        if weights is not None:
            row_weights = torch.tensor(weights / weights.mean(), dtype=torch.float32)
        chance = TorchRng(seed)
        with one_thread():
            with chance.as_default():
                network = ConvolutionalNetwork(tuple(inputs.shape[1:]), size)
            _train(network, inputs, goals, row_weights, chance.on("cpu"))
        network = network.double().eval().requires_grad_(False)
        return ConvolutionalPredictor(self.layout, network, present, n_outputs, outputs)


def _train(
    network: ConvolutionalNetwork,
    inputs: Tensor,
    goals: Tensor,
    weights: Tensor,
    generator: torch.Generator,
) -> None:
    """Decoupled weight decay, one cycle of the learning rate, rows in random order."""
    rate, steps, batch = SETTINGS.rate, SETTINGS.steps, SETTINGS.batch
    optimizer = torch.optim.AdamW(network.parameters(), rate, weight_decay=SETTINGS.decay)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    network.train()
    order = torch.empty(0, dtype=torch.int64)
    for _ in range(steps):
        if len(order) < min(batch, len(inputs)):
            order = torch.cat([order, torch.randperm(len(inputs), generator=generator)])
        rows, order = order[:batch], order[batch:]
        predicted = network(_moved(inputs[rows], generator), generator)
        if goals.dtype == torch.int64:
            losses = nn.functional.cross_entropy(
                predicted, goals[rows], reduction="none", label_smoothing=SETTINGS.smoothing
            )
        else:
            losses = ((predicted - goals[rows]) ** 2).mean(dim=1)
        optimizer.zero_grad()
        (losses * weights[rows]).mean().backward()
        optimizer.step()
        cycle.step()


def _moved(batch: Tensor, generator: torch.Generator) -> Tensor:
    """All rows of a batch moved by a few cells at random; what comes in from outside is the rim."""
    most = SETTINGS.shift[batch.ndim - 3]
    by = torch.randint(-most, most + 1, (batch.ndim - 2,), generator=generator)
    for axis, step in enumerate(by.tolist(), start=2):
        side = batch.shape[axis]
        batch = batch.index_select(axis, (torch.arange(side) + step).clamp(0, side - 1))
    return batch


def _read(features: Floats, layout: InputLayout) -> Floats:
    """(rows, channels, *sides), drawn together where sides are long."""
    return shrink(layout.to_grid(features), SETTINGS.max_side[len(layout.grid_shape) - 2])
