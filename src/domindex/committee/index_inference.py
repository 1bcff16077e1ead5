"""The indices of a fit: where they start, and whether learning them further helps the map."""

from __future__ import annotations

from domindex.arrays import Floats
from domindex.committee.context import FitContext
from domindex.committee.fitted_indices import FittedIndices
from domindex.geometry.domain_geometry import DomainGeometry, scaled_clouds
from domindex.geometry.domain_map import DomainMap
from domindex.geometry.flow import description_length
from domindex.geometry.transport import Method
from domindex.inputs import DomainData
from domindex.inputs.standardizing import InputScaler
from domindex.neural.batches import TrainingRows
from domindex.vdi.fitting import local_indices, train_indices
from domindex.vdi.module import IndexModule


def infer_indices(
    data: DomainData, geometry: DomainGeometry, context: FitContext, *, may_refine: bool = True
) -> tuple[FittedIndices, DomainGeometry]:
    """Start q(u|x) at the directions along which domains differ, and refine it where that helps.

    The bound is maximised along the map of the closed form. The refined u counts if the map drawn
    from it describes the domains in clearly fewer nats than the map of the start, measured alike.
    Without `may_refine` u stays where it starts. Returns the geometry on the map that counts.
    """
    scaler, start = geometry.scaler, geometry.domain_map
    module, refined = _learn(data, scaler, geometry.projection.matrix, start, context)
    if may_refine and _describes_better(refined, geometry, data):
        geometry = geometry.on_map(_map_like(geometry, refined, start.method), data)
    else:
        module.local_encoder.drop_refinement()
    fitted = FittedIndices(scaler, module.cpu().double().eval(), geometry.domain_map)
    return fitted, geometry


def load_map(context: FitContext) -> tuple[FittedIndices, DomainGeometry] | None:
    """Indices and geometry, where they were stored."""
    found = context.load_stage("map")
    if found is None:
        return None
    geometry, module = found["geometry"], IndexModule.from_state(found["module"])
    return FittedIndices(geometry.scaler, module, geometry.domain_map), geometry


def store_map(context: FitContext, indices: FittedIndices, geometry: DomainGeometry) -> None:
    context.store_stage("map", {"geometry": geometry, "module": indices.module.state()})


def _learn(
    data: DomainData,
    scaler: InputScaler,
    directions: Floats,
    domain_map: DomainMap,
    context: FitContext,
) -> tuple[IndexModule, list[Floats]]:
    """The networks, started at these directions and trained; u of each domain."""
    rows = TrainingRows.of(data, scaler.apply(data.inputs), context.device)
    backbone = context.backbone
    with context.torch_rng.as_default():
        module = IndexModule(
            tuple(rows.inputs.shape[1:]),
            directions.shape[1],
            domain_map.coordinates.shape[1],
            context.network.width,
            None if backbone is None else backbone.extractor.undoing(scaler),
            1.0 if backbone is None else backbone.rate,
        )
    module.local_encoder.start_at(directions)
    module = module.to(rows.inputs.device)
    given = domain_map, context.network.weights(), context.trainer, context.rng
    train_indices(module, rows, *given, torch_rng=context.torch_rng)
    return module, local_indices(module, rows)


def _describes_better(refined: list[Floats], geometry: DomainGeometry, data: DomainData) -> bool:
    """Whether the map of refined u describes how the domains move in fewer nats: by one for every
    domain's place on every axis, for a map that is drawn anew has to earn its places anew."""
    clouds, drawn = scaled_clouds(data, geometry.scaler), geometry.domain_map.drawn
    start = [cloud @ geometry.projection.matrix for cloud in clouds]
    moving = [clouds[number] @ geometry.subspace.moving for number in drawn]
    maps = [_map_like(geometry, local, "sliced").of_landmarks() for local in (start, refined)]
    before, after = (description_length(moving, [one], geometry.moving_origin) for one in maps)
    return after < before - len(drawn) * geometry.domain_map.coordinates.shape[1]


def _map_like(geometry: DomainGeometry, local_indices: list[Floats], method: Method) -> DomainMap:
    """The map of other local indices, drawn as the present one was and turned onto it."""
    present = geometry.domain_map
    return DomainMap.fit(
        present.index.domains,
        [cloud[rows] for cloud, rows in zip(local_indices, geometry.map_rows)],
        present.coordinates.shape[1],
        neighbors=present.neighbors,
        level_share=present.level_share,
        method=method,
        reference=present.coordinates,
        landmarks=present.index.landmarks,
    )
