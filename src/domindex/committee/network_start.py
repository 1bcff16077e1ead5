"""What the variational network is given, and where its encoding starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from domindex.committee.candidates import Choice
from domindex.committee.fit_context import FitContext
from domindex.committee.held_out_gain import helps_on_held_out_domains
from domindex.committee.representation_trials import Candidate, ChosenRule, Sources, choose_rule
from domindex.data import DomainData
from domindex.data.standardizing import OutputScaler
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.misfit import misfit, whitening
from domindex.model.module import EncodingModule
from domindex.networks.alignments import (
    AffineAlignment,
    Alignment,
    FlowAlignment,
    IdentityAlignment,
)
from domindex.networks.decoders import ClassPredictor, OutputPredictor, ValuePredictor
from domindex.representations import Representation, RepresentedRows
from domindex.representations.flow import FlowAligned
from domindex.representations.raw import Raw
from domindex.training.batches import BatchSampler, TrainingRows
from domindex.training.straightening import straighten

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NetworkStart:
    """An encoding before it is trained.

    Attributes
    ----------
    representation : how rows are represented for the encoder
    rows : all rows in it
    module : the untrained encoding
    rule : the linear rule that values start from; None for classes
    outputs : values of the representation to the network's scale and back; None for classes
    """

    representation: Representation
    rows: RepresentedRows
    module: EncodingModule
    rule: ChosenRule | None
    outputs: OutputScaler | None


def network_start(
    choice: Choice, data: DomainData, geometry: DomainGeometry, local_dim: int, context: FitContext
) -> NetworkStart:
    """An alignment for the chosen representation, and a predictor, on a rule for values.

    What the flow aligns, the network aligns too, starting from there: it is given the inputs as
    they are.
    """
    candidate, rule = choice.candidate, choice.rule
    representation, rows = candidate.representation, candidate.rows
    if isinstance(representation, FlowAligned):
        representation = Raw(geometry.scaler)
        rows = RepresentedRows.plain(geometry.scaler.apply_flat(data.inputs))
        alignment: Alignment = flow_alignment(data, geometry, context)
        if rule is not None:
            rule = _rule_after(alignment, choice, rows, data, geometry, context)
    elif not geometry.has_flow:
        index_dim, width = geometry.domain_map.coordinates.shape[1], context.network.width
        alignment = AffineAlignment(rows.features.shape[1], index_dim, width)
    else:
        may_bend = rule is None or rule.may_bend
        alignment = IdentityAlignment.onto(
            candidate.projection, context.network.width, may_bend=may_bend
        )
    outputs = _output_scaler(rows, rule, data)
    predictor = _predictor(alignment.latent_dim, rule if geometry.has_flow else None, outputs, data)
    index_dim = geometry.domain_map.coordinates.shape[1]
    module = EncodingModule(alignment, predictor, local_dim, index_dim, context.network.width)
    return NetworkStart(representation, rows, module, rule, outputs)


def flow_alignment(
    data: DomainData, geometry: DomainGeometry, context: FitContext
) -> FlowAlignment:
    """The network of a flow in closed form, straightened where the flow does not fit."""
    selected, width = geometry.selected, context.network.width
    alignment = FlowAlignment.along(selected.flow, geometry.subspace, width)
    rows = TrainingRows.of(data, geometry.scaler.apply(data.inputs), context.fabric.device)
    coordinates = geometry.domain_map.coordinates
    if selected.flow.family != "none" and selected.misfit > context.choices.max_misfit:
        bent = FlowAlignment.along(selected.freest, geometry.subspace, width)
        bent.to(context.fabric.device)
        batches = BatchSampler(rows, context.training, context.rng, coordinates)
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


def _rule_after(
    alignment: Alignment,
    choice: Choice,
    rows: RepresentedRows,
    data: DomainData,
    geometry: DomainGeometry,
    context: FitContext,
) -> ChosenRule:
    """The linear rule solved anew where the alignment, perhaps straightened, puts the rows."""
    places = torch.tensor(geometry.domain_map.coordinates, dtype=torch.float32)
    x = torch.as_tensor(rows.features, dtype=torch.float32)
    latent = np.empty((data.n_rows, alignment.latent_dim))
    with torch.no_grad():
        for members, place in zip(data.rows_by_domain(), places):
            latent[members] = alignment(x[members][None], place[None])[0][0].numpy()
    moved = RepresentedRows.plain(latent)
    candidate = Candidate.of(choice.candidate.representation, moved, data, latent.shape[1])
    sources = Sources.of(data, geometry.domain_map)
    return choose_rule([candidate], sources, context.choices).among(choice.trials)


def _output_scaler(
    rows: RepresentedRows, rule: ChosenRule | None, data: DomainData
) -> OutputScaler | None:
    if rule is None:
        return None
    sources = data.row_is_source
    values = rows.part(sources).normalize(data.labels[sources])
    return OutputScaler.fit(values, rule.row_weights)


def _predictor(
    latent_dim: int, rule: ChosenRule | None, outputs: OutputScaler | None, data: DomainData
) -> OutputPredictor:
    """Fresh, or started on the linear rule, in the network's units."""
    if data.classes is not None:
        return ClassPredictor(latent_dim, len(data.classes))
    predictor = ValuePredictor(latent_dim, data.labels.shape[1])
    if rule is None:
        return predictor
    assert outputs is not None
    slopes, intercept = rule.rule.slopes / outputs.scale, outputs.apply(rule.rule.intercept)
    return predictor.follow(slopes, intercept, may_bend=rule.may_bend)
