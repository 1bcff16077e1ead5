"""Warnings about a map or an encoding in which everything is alike."""

from __future__ import annotations

import warnings

import numpy as np

from domindex.arrays import Floats
from domindex.committee.committee import NetworkMember
from domindex.errors import CollapseWarning
from domindex.inputs.messages import frames_inside
from domindex.representations import PlacedRows
from domindex.vdi.fitted_indices import FittedIndices


def warn_of_collapse(
    coordinates: Floats,
    network: NetworkMember | None,
    rows: PlacedRows,
    indices: FittedIndices,
    rounding: float = 1e-6,
) -> None:
    """Say so where all domains lie at one place, or where the network encodes all rows alike.

    Differences below `rounding`, relative to the scale of the map and of z, count as none.
    """
    if len(coordinates) > 1 and np.ptp(coordinates, axis=0).max() <= rounding:
        warnings.warn(
            f"All {len(coordinates)} domains lie at one place of the map: their inputs are alike, "
            "and the index tells nothing. Look whether sample_domain names what differs, or add "
            "inputs that do; predictions are those of a model without domains.",
            CollapseWarning,
            stacklevel=frames_inside(),
        )
    if network is None:
        return
    names = {domain.name for domain in rows.domains[:3]}  # constant z is so in any three
    z = network.encode(rows.only(names), indices)
    if len(z) > 1 and np.ptp(z, axis=0).max() <= rounding * (1.0 + np.abs(z).max()):
        warnings.warn(
            "The network encodes all rows alike: z is constant, and what it predicts does not "
            "depend on X. Lower adversary_weight of Network or learning_rate of Training, or give "
            "it more steps.",
            CollapseWarning,
            stacklevel=frames_inside(),
        )
