"""Every threshold of the geometry, each with what it was set on. None of it reads labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MapSettings:
    """How rows become local indices, distances and a map.

    Attributes
    ----------
    max_drawn : domains up to which the map is drawn from all of them, and from landmarks beyond.
        For time and memory: with 500 a map of 1,000 domains agrees with that drawn from all
    min_source_share : of the landmarks that are sources, where there are so many; not tuned
    max_points : rows of a domain that enter its distances; for time
    max_exact_domains : up to which every pair's transport problem is solved; beyond, distances are
        sliced. For time
    n_directions, n_quantiles : of sliced distances; for time
    block : new clouds that are measured together; for memory
    flat_axis, flat_landmark_axis : spread of an axis, relative to the widest, below which it cannot
        say where a new domain lies; of landmarks by rounding and noise. Not tuned
    max_directions : beyond which a family of domains is not taken to be low-dimensional
    fallback_directions : that are looked at then, or where nothing differs
    max_features : that are kept; more are reduced to principal components. For time
    described_components : whose movement compares two projections. For time; chosen with the maps
        of TPT-48 and of generated families in view
    reliable_shapes : correlation between halves of the domains from which their inner shapes count
        as real. Set with the maps of TPT-48 in view
    shape_rows, shape_domains, halvings : rows of a domain, domains up to which transport is exact,
        and random halves by which levels and shapes are weighed; for time
    max_matching_cost : cost of matching sources to targets, relative to matching the mirror image,
        below which they share their patterns. Set with the maps of TPT-48 in view
    matching_rounds, max_shifts, sharpness : rounds; shifts of a pattern in each; and how much a
        pattern counts that costs less than others, e⁵ between the mean and the least cost
    max_patterns, matched_rows : to which a source is matched, and rows of a domain; for time
    max_cut_sources : that are cut where domains are more than `max_drawn`; for time
    balanced_directions, balanced_rows : principal directions whose moments are balanced, 8 have 44
        moments, and rows on which weights are found; for time
    balancing_penalty : of squared multipliers: moments that only extreme weights could match are
        matched in part
    """

    max_drawn: int = 500
    min_source_share: float = 0.1
    max_points: int = 200
    max_exact_domains: int = 100
    n_directions: int = 128
    n_quantiles: int = 128
    block: int = 256
    flat_axis: float = 1e-3
    flat_landmark_axis: float = 0.03
    max_directions: int = 4
    fallback_directions: int = 2
    max_features: int = 32
    described_components: int = 6
    reliable_shapes: float = 0.25
    shape_rows: int = 48
    shape_domains: int = 60
    halvings: int = 6
    max_matching_cost: float = 0.87
    matching_rounds: int = 4
    max_shifts: int = 8
    sharpness: float = 5.0
    max_patterns: int = 48
    matched_rows: int = 300
    max_cut_sources: int = 100
    balanced_directions: int = 8
    balanced_rows: int = 10_000
    balancing_penalty: float = 1e-3


@dataclass(frozen=True)
class RingSettings:
    """When domains are taken to lie on a ring.

    Set on generated rings, arcs, lines, blobs, spheres, grids, trees and random walks of 8 to 48
    domains (docs/loops.md), with rotating digits and all other datasets at hand in view.

    Attributes
    ----------
    min_domains : five points on an arc look like five on a ring. A regular ring of 6 has a
        persistence of 1.73 and one of 7 has 2.25, so in practice it takes 7
    min_persistence : width of the hole over the widest step around it. An arc of 300 degrees has
        1.73 however many domains lie on it, rotating digits 2.47, all other data at most 1.51
    even_persistence, even_step : the same where the widest step is at most so many times the median
        one, as in an evenly filled ring of few domains
    max_off_ring : length, in widths of the hole, that a step to the next domain, or between two at
        one angle, may have: what is longer is a tail, a second loop or a filled disc
    neighbors : through which geodesics are drawn to find angles to begin with
    max_landmarks : domains on which a loop is looked for; for time
    rounds : of least squares: directions of close domains may change in the first
    min_length : share of the median distance that a join counts for at least; rounding
    max_opening : degrees from which a ring of the map is one turn of a helix in the inputs.
        Generated rings open by up to 8, rotating digits (8 by 8 pixels) by 18, rotating MNIST by
        33: its upside-down digits differ from upright ones
    across : degrees up to which pairs speak for an opening between them; not tuned
    min_chance : from which the other way round is in question: an interval of 80 % leaves out as
        much a side
    """

    min_domains: int = 6
    min_persistence: float = 2.0
    even_persistence: float = 1.85
    even_step: float = 1.15
    max_off_ring: float = 0.75
    neighbors: tuple[int, ...] = (2, 3, 4, 5)
    max_landmarks: int = 100
    rounds: int = 3
    min_length: float = 1e-3
    max_opening: float = 25.0
    across: float = 90.0
    min_chance: float = 0.1


@dataclass(frozen=True)
class FlowSettings:
    """How a flow is solved, and along which maps.

    Attributes
    ----------
    few_neighbors, max_neighbors, domains_per_neighbor : geodesics may pass through one of a few
        numbers of neighbours, or be averaged over 3 up to a sixth of the domains, at most 8: one
        number can make a shortcut that closes a curve, and few of several do. Found with the
        paper's true indices in view; which of them a dataset gets is decided by its own inputs
    max_components : axes of the map along which a flow may run: a third would take seconds
    ridge, penalty, max_iterations : of the regression that starts a flow, relative to its design;
        of squared parameters per row in the likelihood; and of its search. Numerical safety, set
        on Circle, DG-15 and DG-60
    max_exponent, out_of_bounds : largest entry of a generator times an index that a line search
        may try, and what more costs: its exponential would carry a cloud out of all bounds
    no_spread : variance within domains, relative to that of all rows, that is rounding
    """

    few_neighbors: tuple[int, ...] = (2, 3, 4, 5)
    max_neighbors: int = 8
    domains_per_neighbor: int = 6
    max_components: int = 2
    ridge: float = 1e-2
    penalty: float = 1e-4
    max_iterations: int = 100
    max_exponent: float = 30.0
    out_of_bounds: float = 1e6
    no_spread: float = 1e-9


@dataclass(frozen=True)
class GridFlowSettings:
    """How motions of pictures and signals are looked for. For time, and not tuned, where not said.

    Attributes
    ----------
    max_rows, max_pairs : rows a domain and pairs of domains that a search looks at
    both_ways_domains : up to which both directions of a pair are looked at; beyond, by turns
    max_signal_cells, max_picture_cells : a side
    max_samples : a side and cell where pictures are drawn together
    n_slices : random smooth pictures along which rows are compared
    coarse_widths, fine_widths : blur of the slices, as a share of the longest side, of the first
        search and of the others: coarse slices change slowly, so that a search from far arrives
    near_ranks, far_ranks : which neighbours a domain is compared with: the nearest while the way is
        looked for, then farther ones too, which a small error adds up to
    starts, n_starts : speeds along the map, in half sides or radians a unit of β, both ways, from
        which every generator is looked at, and how many of the best are followed
    start_steps, family_steps, last_steps : of L-BFGS in the stages of the search
    max_speed : along the map that a search may try
    ridge : of squared parameters, against distances in units of variance: numerical safety
    sure : standard errors by which anything that moves must fit held-out rows better than standing
        still; among what moves, the simplest within one standard error of the best is taken
    min_gain : share of the held-out distance that something freer must take away, however surely.
        Set when MNIST digits that change their light alone were said to shift, by a thousandth of
        a side; no other value was tried
    kernel_width : in median distances of a domain to the nearest other
    """

    max_rows: int = 160
    max_pairs: int = 120
    both_ways_domains: int = 4
    max_signal_cells: int = 64
    max_picture_cells: int = 14
    max_samples: int = 4
    n_slices: int = 32
    coarse_widths: tuple[float, ...] = (0.12, 0.25)
    fine_widths: tuple[float, ...] = (0.05, 0.1, 0.2)
    near_ranks: tuple[int, ...] = (1, 2)
    far_ranks: tuple[int, ...] = (1, 2, 4, 8)
    starts: tuple[float, ...] = (0.1, 0.3, 0.8)
    n_starts: int = 3
    start_steps: int = 25
    family_steps: int = 25
    last_steps: int = 60
    max_speed: float = 3.0
    ridge: float = 1e-4
    sure: float = 2.0
    min_gain: float = 0.02
    kernel_width: float = 2.0


@dataclass(frozen=True)
class OffMapSettings:
    """When a domain is said to lie off the map. For time or safety, and not tuned, where not said.

    Attributes
    ----------
    false_alarms : share of domains of the family that may be flagged; a definition
    min_domains : known domains below which there is nothing to calibrate on
    n_quantiles, n_directions, max_components : quantiles along each direction, random directions,
        and principal components that inputs are reduced to first
    total_share : of the covariance of all rows in the scale of a direction: where domains do not
        vary within, differences between them count ten times less than they would
    n_mixed : nearest known domains that a signature is explained by: two along each axis of a map
        of two
    mix_ridge : share of the mean squared gap added to each one's own: weights stay moderate, so
        that what lies far out in line with known domains is not explained by them
    exponent : of the mean over views: a domain that differs in few of them counts as one that
        differs a little in all. Of 2 (the mean square), 4 and 8, set on families of `make_drift`
        and `make_domain_graph`, with the inputs of Circle, DG-15, DG-60 and TPT-48 in view
    min_share : of the mean spread that a view has at least
    draws : of rows, where known domains are cut; thresholds are averaged over them
    max_rows, max_references, max_calibrated : rows of a domain, domains, and domains left out in
        turn; more are thinned by a fixed random choice
    min_residual : in deviations within domains: below it two domains are the same. Rounding
    """

    false_alarms: float = 0.05
    min_domains: int = 4
    n_quantiles: int = 16
    n_directions: int = 48
    max_components: int = 32
    total_share: float = 0.01
    n_mixed: int = 4
    mix_ridge: float = 0.1
    exponent: float = 4.0
    min_share: float = 0.1
    draws: int = 3
    max_rows: int = 1000
    max_references: int = 1000
    max_calibrated: int = 200
    min_residual: float = 1e-6


MAP, RING, FLOW = MapSettings(), RingSettings(), FlowSettings()
GRID, OFF_MAP = GridFlowSettings(), OffMapSettings()
