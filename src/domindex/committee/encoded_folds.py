"""What the networks of the folds encode, as features for other predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from domindex.committee.folds import Fold
from domindex.committee.members import NetworkMember
from domindex.committee.represented_folds import RepresentedFolds
from domindex.model.fitted_indices import FittedIndices
from domindex.representations import PlacedRows, RepresentedRows

FoldKey = tuple[str, bytes, bytes]


@dataclass(frozen=True, eq=False)
class EncodedFolds(RepresentedFolds):
    """z of the rows of every fold, by the network that was denied the labels it holds out.

    A network has seen labels, so no rows are encoded once for all: z of a held-out row from a
    network that knew its label would be no test. `rows` are as the networks are given them.
    """

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
                network.represent(represented.learned_from(fold), indices),
                network.represent(represented.held_out(fold), indices),
            )
            for fold, network in zip(folds, networks)
        }
        given = represented.data, represented.geometry, networks[0].representation
        return cls(*given, represented.rows, represented.is_cut, encoded=encoded)

    def of(self, fold: Fold) -> tuple[RepresentedRows, RepresentedRows]:
        return self.encoded[_key(fold)]


def encode_all(
    network: NetworkMember, represented: RepresentedFolds, indices: FittedIndices
) -> RepresentedFolds:
    """All rows as the network of the fit encodes them, to fit a member on."""
    coordinates = represented.geometry.domain_map.coordinates
    placed = PlacedRows.of_data(represented.data, coordinates)
    rows = network.represent(placed, indices)
    given = represented.data, represented.geometry, network.representation
    return RepresentedFolds(*given, rows, represented.is_cut)


def _key(fold: Fold) -> FoldKey:
    return fold.kind, fold.train.tobytes(), fold.held_out.tobytes()
