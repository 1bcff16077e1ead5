"""The representations that a fit considers, and the one it goes on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.representation_trials import Candidate, ChosenRule, Sources, choose_rule
from domindex.data import DomainData
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.representations import PlacedRows, representation_named
from domindex.representations.domain_normalised import SHAPES
from domindex.representations.flow import FlowAligned
from domindex.representations.raw import Raw
from domindex.representations.row_normalised import outputs_share_units


@dataclass(frozen=True, eq=False)
class Choice:
    """The representation to go on with.

    Attributes
    ----------
    candidate : all rows in it
    rule : the linear rule for values that came with it; None for classes
    trials : a row per candidate that was tried, for the user to read
    """

    candidate: Candidate
    rule: ChosenRule | None
    trials: pd.DataFrame


def build_candidates(
    request: str, data: DomainData, geometry: DomainGeometry, settings: ChoiceSettings
) -> list[Candidate]:
    """All rows in the representation that was asked for by name, or in those that make sense."""
    names = _names(data, geometry) if request == "auto" else [request]
    rows = PlacedRows.of_data(data, geometry.domain_map.coordinates)
    fitted = [representation_named(name).fit(data, geometry) for name in names]
    return [Candidate.of(kind, kind.apply(rows), data, settings.max_latent) for kind in fitted]


def choose_candidate(
    candidates: Sequence[Candidate],
    data: DomainData,
    geometry: DomainGeometry,
    settings: ChoiceSettings,
) -> Choice:
    """For values, by held-out error and effective sample; classes have one candidate so far."""
    if data.task == "regression":
        sources = Sources.of(data, geometry.domain_map)
        rule = choose_rule(candidates, sources, settings)
        return Choice(rule.candidate, rule, rule.trials)
    table = pd.DataFrame(
        {
            "candidate": [candidate.name for candidate in candidates],
            "chosen": [number == 0 for number in range(len(candidates))],
        }
    )
    return Choice(candidates[0], None, table)


def _names(data: DomainData, geometry: DomainGeometry) -> list[str]:
    """Classes follow the flow if there is one; values try whatever may carry over."""
    if data.task == "classification":
        return [FlowAligned.name if geometry.has_flow else Raw.name]
    names = [Raw.name]
    if outputs_share_units(data):
        n_features = int(np.prod(data.inputs.shape[1:]))
        names += [kind.name for kind in SHAPES if n_features >= kind.least_features]
    moves = geometry.has_flow and geometry.selected.flow.family != "none"
    return [*names, *([FlowAligned.name] if moves else [])]
