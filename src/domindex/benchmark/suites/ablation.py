"""The model with one part taken out at a time.

Everything that reaches into the estimators' insides for an ablation is in this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from domindex.benchmark.figures import map_figures, prediction_figures
from domindex.benchmark.methods import Method, some_methods, vdi
from domindex.benchmark.suite import Suite
from domindex.benchmark.suites.datasets import library_datasets
from domindex.benchmark.tables import by_method
from domindex.data.standardizing import InputScaler
from domindex.datasets import DomainDataset
from domindex.estimators.classifier import VDIClassifier
from domindex.estimators.settings import ModelSettings
from domindex.estimators.structure import (
    Structure,
    StructureMaker,
    flow_structure,
    structure_along,
    unroll_problem,
)
from domindex.geometry.atlas import Atlas, draw_map
from domindex.geometry.flow import Moments, solve_flow, still_flow
from domindex.geometry.flow_choice import choose_flow, misfit
from domindex.geometry.neighbors import bridge_components, nearest_links
from domindex.geometry.unrolled import UnrolledDomains
from domindex.training.problem import Problem
from domindex.training.progress import Progress


def _unrolled(
    problem: Problem, scaler: InputScaler, settings: ModelSettings
) -> tuple[UnrolledDomains, list[np.ndarray]]:
    """The closed form of the default model, and the clouds it moves."""
    unrolled = unroll_problem(problem, scaler, settings)
    return unrolled, [cloud @ unrolled.projection.moving for cloud in problem.clouds()]


def without_beta(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """The map stays, but nothing moves along it."""
    unrolled, moving = _unrolled(problem, scaler, settings)
    choice = replace(unrolled.choice, flow=still_flow(Moments.of(moving)))
    return structure_along(replace(unrolled, choice=choice), problem, settings, rng, progress)


def with_shuffled_beta(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """Every domain gets another one's place on the map, after the flow was solved."""
    structure = flow_structure(problem, scaler, settings, rng, progress)
    order = rng.permutation(problem.data.n_domains)

    def shuffled(local_indices: Any, reference: Any, last: bool) -> Atlas:
        atlas = structure.make_map(local_indices, reference, last)
        index = replace(atlas.index, coordinates=atlas.index.coordinates[order])
        return replace(atlas, index=index)

    return replace(structure, make_map=shuffled)


def with_means_for_transport(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """Distances between the domains' means, instead of between their clouds."""
    unrolled, moving = _unrolled(problem, scaler, settings)
    distances = squareform(pdist(np.stack([cloud.mean(axis=0) for cloud in moving])))
    origin = scaler.origin @ unrolled.projection.moving
    choice = choose_flow(moving, distances, settings.index_dim, origin)
    atlas = draw_map(
        problem.data.domains,
        moving,
        settings.index_dim,
        neighbors=(choice.n_neighbors,),
        transport=distances,
    )
    changed = UnrolledDomains(unrolled.projection, choice, atlas)
    return structure_along(changed, problem, settings, rng, progress)


def without_geodesics(
    problem: Problem,
    scaler: InputScaler,
    settings: ModelSettings,
    rng: np.random.Generator,
    progress: Progress,
) -> Structure:
    """The same family of flows along the plain scaling of transport distances."""
    unrolled, moving = _unrolled(problem, scaler, settings)
    atlas = draw_map(
        problem.data.domains, moving, settings.index_dim, transport=unrolled.atlas.transport
    )
    links = bridge_components(nearest_links(atlas.transport, 3), atlas.transport)
    origin = scaler.origin @ unrolled.projection.moving
    old = unrolled.choice.flow
    index = atlas.index.coordinates[:, : old.n_components]
    flow = solve_flow(index, links, Moments.of(moving), old.family, origin)
    carried = flow.carry_all(moving, atlas.index.coordinates)
    choice = replace(unrolled.choice, flow=flow, misfit=misfit(carried))
    changed = UnrolledDomains(unrolled.projection, choice, atlas)
    return structure_along(changed, problem, settings, rng, progress)


class WithoutBeta(VDIClassifier):
    def _structure_maker(self) -> StructureMaker:
        return without_beta


class WithShuffledBeta(VDIClassifier):
    def _structure_maker(self) -> StructureMaker:
        return with_shuffled_beta


class WithMeansForTransport(VDIClassifier):
    def _structure_maker(self) -> StructureMaker:
        return with_means_for_transport


class WithoutGeodesics(VDIClassifier):
    def _structure_maker(self) -> StructureMaker:
        return without_geodesics


def _build(kind: Callable[..., Any], dataset: DomainDataset, seed: int) -> Any:
    return kind(random_state=seed)


VARIANTS: tuple[tuple[str, str, Callable[[DomainDataset, int], Any]], ...] = (
    ("no-beta", "no β in the encoder", partial(_build, WithoutBeta)),
    ("shuffled-beta", "β shuffled among domains", partial(_build, WithShuffledBeta)),
    ("no-adversary", "no adversary", partial(vdi, adversary_weight=0.0)),
    ("identity-adversary", "identity discriminator", partial(vdi, adversary=("domain",))),
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
