"""The model with one part taken out at a time: of its network, which predicts alone here.

Everything that reaches into the estimators' insides for an ablation is in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from domindex.committee.context import FitContext
from domindex.datasets import DomainDataset
from domindex.estimators.classifier import VDIClassifier
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.flow import Moments, maps_along_neighborhoods, select_flow, still_flow
from domindex.inputs import DomainData
from domindex.vdi.fitted_indices import FittedIndices
from domindex.vdi.settings import Network
from domindex_bench.figures import map_figures, prediction_figures
from domindex_bench.methods import Method, some_methods, vdi
from domindex_bench.suite import Suite
from domindex_bench.suites.datasets import library_datasets
from domindex_bench.tables import by_method


class WithoutBeta(VDIClassifier):
    """The map stays, but nothing moves along it."""

    def _solve_geometry(self, data: DomainData, context: FitContext) -> DomainGeometry:
        geometry = super()._solve_geometry(data, context)
        still = still_flow(Moments.of(geometry.moving_clouds(data)))
        return replace(geometry, selected=replace(geometry.selected, flow=still, around=None))


class WithShuffledBeta(VDIClassifier):
    """Every domain gets another one's place on the map, after the flow was solved."""

    def _infer_indices(
        self, data: DomainData, context: FitContext
    ) -> tuple[FittedIndices, DomainGeometry]:
        indices, geometry = super()._infer_indices(data, context)
        domain_map = geometry.domain_map
        order = context.rng.permutation(data.n_domains)
        index = replace(domain_map.index, coordinates=domain_map.coordinates[order])
        shuffled = replace(domain_map, index=index)
        selected = replace(geometry.selected, domain_map=shuffled)
        return replace(indices, domain_map=shuffled), replace(geometry, selected=selected)


class WithMeansForTransport(VDIClassifier):
    """Distances between the domains' means, instead of between their clouds."""

    def _solve_geometry(self, data: DomainData, context: FitContext) -> DomainGeometry:
        geometry = super()._solve_geometry(data, context)
        moving = geometry.moving_clouds(data)
        distances = squareform(pdist(np.stack([cloud.mean(axis=0) for cloud in moving])))
        maps = maps_along_neighborhoods(replace(geometry.domain_map, transport=distances))
        selected = select_flow(moving, maps, geometry.moving_origin)
        return replace(geometry, selected=selected)


class WithoutGeodesics(VDIClassifier):
    """A flow along the plain scaling of transport distances."""

    def _solve_geometry(self, data: DomainData, context: FitContext) -> DomainGeometry:
        geometry = super()._solve_geometry(data, context)
        return geometry.on_map(geometry.domain_map.along(()), data)


def _build(kind: Callable[..., Any], dataset: DomainDataset, seed: int) -> Any:
    return kind(predictor="network", random_state=seed)


network = partial(vdi, predictor="network")


VARIANTS: tuple[tuple[str, str, Callable[[DomainDataset, int], Any]], ...] = (
    ("network", "the network alone", network),
    ("no-beta", "no β in the encoder", partial(_build, WithoutBeta)),
    ("shuffled-beta", "β shuffled among domains", partial(_build, WithShuffledBeta)),
    ("no-adversary", "no adversary", partial(network, network=Network(adversary_weight=0.0))),
    (
        "identity-adversary",
        "identity discriminator",
        partial(network, network=Network(adversary=("domain",))),
    ),
    ("means", "means instead of transport", partial(_build, WithMeansForTransport)),
    ("no-geodesics", "no geodesics", partial(_build, WithoutGeodesics)),
)

SUITE = Suite(
    name="ablation",
    title="One part taken out at a time",
    about="Target accuracy, %.",
    datasets=library_datasets("dg-15", "dg-60", "circle"),
    methods={
        **some_methods("vdi", "vdi-no-flow", "moment-flow"),
        **{
            name: Method(name, title, "a part taken out", build=build)
            for name, title, build in VARIANTS
        },
    },
    seeds=2,
    figures=(prediction_figures, map_figures),
    headline={"classification": "accuracy"},
    render=partial(by_method, figure="accuracy"),
)
