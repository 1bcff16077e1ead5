"""What the variational network is given, and where its encoding starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.fit_context import FitContext
from domindex.committee.held_out_gain import helps_on_held_out_domains
from domindex.committee.linear_rule import solve_rules
from domindex.committee.represented_folds import RepresentedFolds
from domindex.data import DomainData
from domindex.data.standardizing import OutputScaler
from domindex.errors import InputError
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.misfit import misfit, whitening
from domindex.geometry.subspace import principal_components
from domindex.model.module import EncodingModule
from domindex.networks.alignments import (
    AffineAlignment,
    Alignment,
    FlowAlignment,
    IdentityAlignment,
)
from domindex.networks.backbone_alignment import BackboneAlignment
from domindex.networks.decoders import ClassPredictor, OutputPredictor, ValuePredictor
from domindex.representations import Representation, RepresentedRows
from domindex.representations.flow import FlowAligned
from domindex.representations.raw import Raw
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.straightening import straighten

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

START_PENALTY = 1e-2
"""Of the linear rule that a network for values starts on; it is trained from there. Not tuned."""


@dataclass(frozen=True, eq=False)
class NetworkStart:
    """An encoding before it is trained.

    Attributes
    ----------
    representation : how rows are represented for the encoder
    rows : all rows in it
    alignment : how the encoder starts to align them
    outputs : values of the representation to the network's scale and back; None for classes
    local_dim, width : sizes of the networks
    """

    data: DomainData
    geometry: DomainGeometry
    representation: Representation
    rows: RepresentedRows
    alignment: Alignment
    outputs: OutputScaler | None
    local_dim: int
    width: int

    def module(self, known: Numbers) -> EncodingModule:
        """The untrained encoding; for values it starts on the linear rule of the known rows."""
        index_dim = self.geometry.domain_map.coordinates.shape[1]
        predictor = self._predictor(known)
        return EncodingModule(self.alignment, predictor, self.local_dim, index_dim, self.width)

    def _predictor(self, known: Numbers) -> OutputPredictor:
        if self.data.classes is not None:
            return ClassPredictor(self.alignment.latent_dim, len(self.data.classes))
        assert self.outputs is not None
        predictor = ValuePredictor(self.alignment.latent_dim, self.data.labels.shape[1])
        if not self.geometry.has_flow or isinstance(self.alignment, BackboneAlignment):
            return predictor
        values = self.outputs.apply(self.rows.part(known).normalize(self.data.labels[known]))
        weights = np.full(len(known), 1.0 / len(known))
        (rule,) = solve_rules(self._aligned()[known], values, weights, (START_PENALTY,))
        return predictor.follow(rule.slopes, rule.intercept, may_bend=True)

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
    """An alignment for a representation.

    What the flow aligns, the network aligns too, starting from there: it is given the inputs as
    they are. A backbone is given rows of the inputs' shape, and what it tells of them is aligned.
    """
    data, geometry = represented.data, represented.geometry
    representation, rows = represented.representation, represented.rows
    width = context.network.width
    alignment: Alignment
    if context.backbone is not None:
        with context.chance.lent():
            alignment = _behind_backbone(represented, context)
    elif isinstance(representation, FlowAligned):
        representation = Raw(geometry.scaler)
        rows = RepresentedRows.plain(geometry.scaler.apply_flat(data.inputs))
        alignment = flow_alignment(data, geometry, context)
    elif not geometry.has_flow:
        index_dim = geometry.domain_map.coordinates.shape[1]
        with context.chance.lent():
            alignment = AffineAlignment(rows.features.shape[1], index_dim, width)
    else:
        projection = principal_components(rows.features, context.choices.max_latent)
        with context.chance.lent():
            alignment = IdentityAlignment.onto(projection, width, may_bend=True)
    outputs = None
    if data.classes is None:
        sources = data.row_is_source
        values = rows.part(sources).normalize(data.labels[sources])
        outputs = OutputScaler.fit(values, np.full(len(values), 1.0 / len(values)))
    return NetworkStart(data, geometry, representation, rows, alignment, outputs, local_dim, width)


def _behind_backbone(represented: RepresentedFolds, context: FitContext) -> BackboneAlignment:
    """What the backbone tells of rows, aligned as β says in the paper's model, else as it is."""
    backbone, geometry = context.backbone, represented.geometry
    assert backbone is not None
    extractor, representation = backbone.extractor, represented.representation
    n_features, shape = represented.rows.features.shape[1], represented.data.inputs.shape[1:]
    if n_features != math.prod(shape):
        raise InputError(
            f"The backbone takes rows of shape {shape}, but the representation "
            f"{representation.name!r} has {n_features} features. Choose one that keeps the shape "
            "of rows for the network, such as 'raw', or a frozen backbone."
        )
    is_raw = isinstance(representation, Raw)
    extractor = extractor.undoing(geometry.scaler) if is_raw else extractor.without_scale()
    n_inner, width = min(extractor.n_features, context.choices.max_latent), context.network.width
    inner: Alignment
    if geometry.has_flow:
        inner = IdentityAlignment.onto(np.eye(n_inner), width, may_bend=True)
    else:
        index_dim = geometry.domain_map.coordinates.shape[1]
        inner = AffineAlignment(n_inner, index_dim, width)
    return BackboneAlignment(extractor, inner, n_inner, backbone.rate)


def flow_alignment(
    data: DomainData, geometry: DomainGeometry, context: FitContext
) -> FlowAlignment:
    """The network of a flow in closed form, straightened where the flow does not fit."""
    selected, width = geometry.selected, context.network.width
    with context.chance.lent():
        alignment = FlowAlignment.along(selected.flow, geometry.subspace, width)
    rows = TrainingRows.of(data, geometry.scaler.apply(data.inputs), context.fabric.device)
    coordinates = geometry.domain_map.coordinates
    if selected.flow.family != "none" and selected.misfit > context.choices.max_misfit:
        with context.chance.lent():
            bent = FlowAlignment.along(selected.freest, geometry.subspace, width)
        bent.to(context.fabric.device)
        batches = BatchSampler(
            rows, context.training, context.rng, coordinates, chance=context.chance
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
