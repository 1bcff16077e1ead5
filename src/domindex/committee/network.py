"""The variational network as a candidate, and predictors on what it encodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from domindex.arrays import Floats, Ints
from domindex.committee.alignments import BackboneAlignment, FlowAlignment, IdentityAlignment
from domindex.committee.candidates import Candidate
from domindex.committee.committee import EncodedMember, Member, NetworkMember, fit_predictor
from domindex.committee.context import FitContext
from domindex.committee.encoding import EncodingModule, straighten, train_encoding
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.folds import Fold, HeldOutRows, RepresentedFolds, held_out_folds
from domindex.committee.learners.estimators import solve_ridge
from domindex.committee.network_folds import train_encoding_folds
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry, principal_components
from domindex.geometry.transport import misfit, whitening
from domindex.inputs import DomainData
from domindex.inputs.standardizing import OutputScaler
from domindex.neural.batches import BatchSampler, TrainingRows
from domindex.representations import PlacedRows, Representation, RepresentedRows
from domindex.representations.base import Raw
from domindex.representations.flow import FlowAligned
from domindex.vdi.alignments import Alignment
from domindex.vdi.module import IndexModule
from domindex.vdi.networks import ClassPredictor, OutputPredictor, ValuePredictor


def helps_on_held_out_domains(
    base: Floats,
    extra: Floats,
    labels: NDArray,
    domains: NDArray[np.int64],
    clear_gain: float = 2.0,
    max_rows: int = 2000,
) -> bool:
    """Whether adding `extra` features to `base` clearly lowers the error on held-out domains: by
    more than `clear_gain` standard errors of the difference, row by row. All arrays hold source
    rows only; `labels` are whole numbers for classes, (rows,), or values, (rows, outputs)."""
    if len(base) < 2:
        return False
    rows = np.random.default_rng(0).permutation(len(base))[:max_rows]
    base, extra, labels, domains = base[rows], extra[rows], labels[rows], domains[rows]
    lean = _held_out_errors(base, labels, domains, degree=2)
    full = _held_out_errors(np.hstack([base, extra]), labels, domains, degree=1)
    gain = lean - full
    return bool(gain.mean() > clear_gain * gain.std() / np.sqrt(len(gain)))


def _held_out_errors(
    features: Floats, labels: NDArray, domains: NDArray[np.int64], degree: int
) -> Floats:
    """Error of every row under a model that never saw its domain: a wrong class, or squares."""
    is_class = labels.dtype.kind in "iu"
    predicted = np.full(labels.shape, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for test in held_out_folds(domains, 6):
            train = np.setdiff1d(np.arange(len(labels)), test)
            if not is_class or len(np.unique(labels[train])) > 1:
                model = make_pipeline(
                    PolynomialFeatures(degree, include_bias=False),
                    StandardScaler(),
                    LogisticRegression(max_iter=500) if is_class else Ridge(),
                ).fit(features[train], labels[train])
                predicted[test] = model.predict(features[test]).reshape(labels[test].shape)
    if is_class:
        return (predicted != labels).astype(np.float64)
    spread = labels.std(axis=0)
    return (((predicted - labels) / np.where(spread > 0, spread, 1.0)) ** 2).sum(axis=1)


@dataclass(frozen=True, eq=False)
class NetworkStart:
    """An encoding before it is trained."""

    data: DomainData
    geometry: DomainGeometry
    representation: Representation  # how rows are represented for the encoder
    rows: RepresentedRows  # all rows in it
    alignment: Alignment  # how the encoder starts to align them
    outputs: OutputScaler | None  # values to the network's scale and back; None for classes
    local_dim: int
    width: int

    def module(self, known: Ints) -> EncodingModule:
        """The untrained encoding; for values it starts on the linear rule of the known rows."""
        index_dim = self.geometry.domain_map.coordinates.shape[1]
        predictor = self._predictor(known)
        return EncodingModule(self.alignment, predictor, self.local_dim, index_dim, self.width)

    def _predictor(self, known: Ints) -> OutputPredictor:
        if self.data.classes is not None:
            return ClassPredictor(self.alignment.latent_dim, len(self.data.classes))
        assert self.outputs is not None
        predictor = ValuePredictor(self.alignment.latent_dim, self.data.labels.shape[1])
        if isinstance(self.alignment, BackboneAlignment):
            return predictor
        values = self.outputs.apply(self.rows.part(known).normalize(self.data.labels[known]))
        weights = np.full(len(known), 1.0 / len(known))
        rule = solve_ridge(self._aligned()[known], values, weights, 0.01)
        return predictor.follow(*rule, may_bend=True)

    def _aligned(self) -> Floats:
        """All rows as the alignment starts to put them, (rows, latent_dim)."""
        places = torch.tensor(self.geometry.domain_map.coordinates, dtype=torch.float32)
        x = torch.as_tensor(self.rows.features, dtype=torch.float32)
        latent = np.empty((self.data.n_rows, self.alignment.latent_dim))
        with torch.no_grad():
            for members, place in zip(self.data.rows_by_domain(), places):
                latent[members] = self.alignment(x[members][None], place[None])[0][0].numpy()
        return latent


def network_start(
    represented: RepresentedFolds, local_dim: int, context: FitContext
) -> NetworkStart:
    """An alignment for a representation: where the flow aligns, the network starts from it and is
    given the inputs as they are. Of a backbone the features are aligned."""
    data, geometry = represented.data, represented.geometry
    representation, rows = represented.representation, represented.rows
    width = context.network.width
    alignment: Alignment
    if context.backbone is not None:
        with context.torch_rng.as_default():
            alignment = _behind_backbone(represented, context)
    elif isinstance(representation, FlowAligned):
        representation = Raw(geometry.scaler)
        rows = RepresentedRows.plain(geometry.scaler.apply_flat(data.inputs))
        alignment = flow_alignment(data, geometry, context)
    else:
        projection = principal_components(rows.features, context.choices.max_latent)
        with context.torch_rng.as_default():
            alignment = IdentityAlignment.onto(projection, width, may_bend=True)
    outputs = None
    if data.classes is None:
        sources = data.row_is_source
        values = rows.part(sources).normalize(data.labels[sources])
        outputs = OutputScaler.fit(values, np.full(len(values), 1.0 / len(values)))
    return NetworkStart(data, geometry, representation, rows, alignment, outputs, local_dim, width)


def _behind_backbone(represented: RepresentedFolds, context: FitContext) -> BackboneAlignment:
    """The backbone's features as they are, which a network may bend."""
    backbone = context.backbone
    assert backbone is not None
    extractor, representation = backbone.extractor, represented.representation
    n_features, shape = represented.rows.features.shape[1], represented.data.inputs.shape[1:]
    if n_features != math.prod(shape):
        raise InputError(
            f"The backbone takes rows of shape {shape}, but the representation "
            f"{representation.name!r} has {n_features} features. Choose one that keeps the shape "
            "of rows for the network, such as 'raw', or a frozen backbone."
        )
    is_raw, scaler = isinstance(representation, Raw), represented.geometry.scaler
    extractor = extractor.undoing(scaler) if is_raw else extractor.without_scale()
    n_inner, width = min(extractor.n_features, context.choices.max_latent), context.network.width
    inner = IdentityAlignment.onto(np.eye(n_inner), width, may_bend=True)
    return BackboneAlignment(extractor, inner, n_inner, backbone.rate)


def flow_alignment(
    data: DomainData, geometry: DomainGeometry, context: FitContext
) -> FlowAlignment:
    """The network of a flow in closed form, straightened where the flow does not fit."""
    selected, width = geometry.selected, context.network.width
    with context.torch_rng.as_default():
        alignment = FlowAlignment.along(selected.flow, geometry.subspace, width)
    rows = TrainingRows.of(data, geometry.scaler.apply(data.inputs), context.device)
    coordinates = geometry.domain_map.coordinates
    if selected.flow.family != "none" and selected.misfit > context.choices.max_misfit:
        with context.torch_rng.as_default():
            bent = FlowAlignment.along(selected.freest, geometry.subspace, width)
        bent.to(context.device)
        batches = BatchSampler(
            rows, context.training, context.rng, coordinates, torch_rng=context.torch_rng
        )
        straighten(bent, batches, context.progress)
        bent.cpu()
        if misfit(_aligned(bent, rows, coordinates)) < selected.misfit:
            alignment = bent
    aligned = _aligned(alignment, rows, coordinates)
    pooled = np.concatenate(aligned)
    alignment.use_spread(pooled.mean(axis=0), whitening(pooled))
    if not _still_coordinates_help(aligned, data, geometry, context.choices.clear_gain):
        alignment.drop_still()
    return alignment


def _aligned(alignment: FlowAlignment, rows: TrainingRows, coordinates: Floats) -> list[Floats]:
    """The moving coordinates of each domain at β = 0."""
    index = torch.tensor(coordinates, dtype=torch.float32)
    with torch.no_grad():
        return [
            alignment.align(rows.represented[members].cpu()[None], index[number][None])[0]
            .numpy()
            .astype(np.float64)
            for number, members in enumerate(map(torch.as_tensor, rows.data.rows_by_domain()))
        ]


def _still_coordinates_help(
    aligned: list[Floats], data: DomainData, geometry: DomainGeometry, clear_gain: float
) -> bool:
    """Whether the coordinates that the flow leaves alone are worth their noise."""
    still = geometry.subspace.still
    if not still.size:
        return False
    order = np.concatenate(data.rows_by_domain())
    is_source = data.row_is_source[order]
    rows = order[is_source]
    return helps_on_held_out_domains(
        np.concatenate(aligned)[is_source],
        geometry.scaler.apply_flat(data.inputs[rows]) @ still,
        data.labels[rows],
        data.row_domains[rows],
        clear_gain,
    )


FoldKey = tuple[str, bytes, bytes]


@dataclass(frozen=True, eq=False)
class EncodedFolds(RepresentedFolds):
    """z of the rows of every fold, by the network that was denied the labels it holds out: from one
    that knew them it would be no test. `rows` are as the networks are given them."""

    encoded: dict[FoldKey, tuple[RepresentedRows, RepresentedRows]] = field(default_factory=dict)

    @classmethod
    def of_networks(
        cls,
        networks: Sequence[NetworkMember],
        folds: Sequence[Fold],
        represented: RepresentedFolds,
        indices: FittedIndices,
    ) -> EncodedFolds:
        """One network a fold; `represented` is what they are given."""
        encoded = {
            _key(fold): (
                network.represent(represented.placed(fold.train), indices),
                network.represent(represented.placed(fold.held_out, represented.is_cut), indices),
            )
            for fold, network in zip(folds, networks)
        }
        given = represented.data, represented.geometry, networks[0].representation
        return cls(*given, represented.rows, represented.is_cut, encoded=encoded)

    def of(self, fold: Fold) -> tuple[RepresentedRows, RepresentedRows]:
        return self.encoded[_key(fold)]


def _key(fold: Fold) -> FoldKey:
    return fold.kind, fold.train.tobytes(), fold.held_out.tobytes()


@dataclass(eq=False)
class NetworkCandidate:
    """Trained once for its folds and, where a member needs it, once on all sources: by itself it
    predicts, and other predictors stand on what it encodes."""

    start: NetworkStart
    represented: RepresentedFolds  # what it is given
    indices: FittedIndices
    context: FitContext
    fitted: NetworkMember | None = None  # on all sources, once it was asked for

    def hold_out(self, rows: HeldOutRows) -> tuple[Floats, EncodedFolds]:
        """What the networks of the folds predict of held-out rows, (n, columns), and encode."""
        modules = self._cached("networks of folds", lambda: self._train_folds(rows))
        networks = [self._member(module) for module in modules]
        known = self.represented
        held_out = [known.placed(fold.held_out, known.is_cut) for fold in rows.folds]
        predicted = [one.predict(of, self.indices) for one, of in zip(networks, held_out)]
        encoded = EncodedFolds.of_networks(networks, rows.folds, known, self.indices)
        return np.concatenate(predicted), encoded

    def member(self, candidate: Candidate, seed: int) -> Member:
        """The network itself, or the candidate's learner on what it encodes."""
        if self.fitted is None:
            (module,) = self._cached("network", self._train)
            self.fitted = self._member(module)
        if candidate.learner is None:
            return self.fitted
        data, geometry = self.represented.data, self.represented.geometry
        placed = PlacedRows.of_data(data, geometry.domain_map.coordinates)
        rows = self.fitted.represent(placed, self.indices)
        given = data, geometry, self.fitted.representation, rows, self.represented.is_cut
        member = fit_predictor(candidate, RepresentedFolds(*given), seed)
        return EncodedMember(self.fitted, member.predictor, member.is_class)

    def _train(self) -> list[EncodingModule]:
        """On all sources."""
        context, batches = self.context, self._batches()
        with context.torch_rng.as_default():
            untrained = self.start.module(np.flatnonzero(self.start.data.row_is_source))
        with self._indices_in_training() as indices:
            network = context.network
            given = network.adversary, network.weights(), context.trainer
            return [train_encoding(untrained, indices, batches, *given)]

    def _train_folds(self, rows: HeldOutRows) -> list[EncodingModule]:
        """A network for every fold, all trained as one, denied the labels of the domains that it
        holds out; a far one also of those in between."""
        context, data, settings = self.context, self.start.data, self.context.training
        held_out = np.ones((len(rows.folds), data.n_domains), dtype=bool)
        for number, fold in enumerate(rows.folds):
            held_out[number, np.unique(data.row_domains[fold.train])] = False
        share = settings.fold_steps if context.backbone is None else settings.backbone_fold_steps
        with context.torch_rng.as_default():
            untrained = [self.start.module(fold.train) for fold in rows.folds]
        with self._indices_in_training() as indices:
            return train_encoding_folds(
                untrained,
                indices,
                self._batches(),
                held_out & data.is_source,
                context.network.adversary,
                context.network.weights(),
                context.trainer,
                n_steps=max(1, int(share * settings.steps)),
            )

    def _cached(self, name: str, train: Callable[[], list[EncodingModule]]) -> list[EncodingModule]:
        """Trained networks, found or trained and stored."""
        found = self.context.load_stage(name)
        if found is not None:
            return [EncodingModule.from_state(state) for state in found["modules"].values()]
        modules = train()
        states = {str(number): module.state() for number, module in enumerate(modules)}
        self.context.store_stage(name, {"modules": states})
        return modules

    @contextmanager
    def _indices_in_training(self) -> Iterator[IndexModule]:
        """The networks of the indices in single precision, on the device; afterwards as before."""
        module = self.indices.module
        try:
            yield module.float().to(self.context.device)
        finally:
            module.cpu().double()

    def _member(self, module: EncodingModule) -> NetworkMember:
        return NetworkMember(self.start.representation, module, self.start.outputs)

    def _batches(self) -> BatchSampler:
        start, context = self.start, self.context
        data, geometry = start.data, start.geometry
        rows = TrainingRows.of(data, geometry.scaler.apply(data.inputs), context.device)
        rows = rows.represented_as(start.rows, data.weights)
        if start.outputs is not None:
            rows = rows.with_labels(start.outputs.apply(start.rows.normalize(data.labels)))
        coordinates, torch_rng = geometry.domain_map.coordinates, context.torch_rng
        return BatchSampler(rows, context.training, context.rng, coordinates, torch_rng=torch_rng)
