"""Every threshold by which something is chosen, in one place, each with where it was set."""

from __future__ import annotations

from dataclasses import dataclass

from domindex.geometry.local_projection import RELIABLE
from domindex.geometry.matching import MOST_COST


@dataclass(frozen=True)
class ChoiceSettings:
    """One configuration for every dataset.

    No target label is read in `fit`. But all of these were *found* with target scores in view: on
    TPT-48 (both tasks) where marked T, on Circle, DG-15 and DG-60 and families of that kind where
    marked C.

    Attributes
    ----------
    most_matching_cost : below it, sources are cut to the rows that resemble the targets'
        (`geometry.matching`). T
    reliable_shapes : correlation between halves of the domains from which inner shapes count on
        the map (`geometry.local_projection`). T
    max_misfit : of a flow, beyond which inputs are taken to be bent and straightened first. C
    clear_gain : standard errors by which still coordinates must lower the held-out error. C
    insurance : held-out error, relative to the best, that a representation with a larger effective
        sample may cost. T
    fraction_power : how much the effective sample fraction counts against held-out error: at 1/3,
        8 times the fraction is worth twice the error. T
    least_fraction : effective sample fraction below which balancing rests on a handful of rows. T
    trusted_fraction : share of the largest effective sample fraction from which a representation
        that moves whole domains counts. T, and the families of `domindex bench --suite regression`
    bending_gain : share of the linear rule's held-out error that a flexible one must stay below,
        times the root of the effective sample fraction. T, and the same families
    balanced_penalty : least ridge penalty under balancing weights. T
    coverage : share of held-out residuals that an interval of that probability shall hold;
        a definition, not tuned
    max_latent : components of z; rows with more features are reduced to their principal ones;
        for memory, not tuned
    """

    most_matching_cost: float = MOST_COST
    reliable_shapes: float = RELIABLE
    max_misfit: float = 1.15
    clear_gain: float = 2.0
    insurance: float = 1.6
    fraction_power: float = 1 / 3
    least_fraction: float = 0.01
    trusted_fraction: float = 0.5
    bending_gain: float = 0.9
    balanced_penalty: float = 0.3
    coverage: float = 0.9
    max_latent: int = 128
