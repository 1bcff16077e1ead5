"""Cells, what is seen between them, and how pictures and signals are found to move."""

from functools import lru_cache

import numpy as np
import pytest
from scipy import ndimage

from domindex.errors import InputError
from domindex.geometry.grid_flow import (
    FAMILIES,
    FlowParameters,
    Grid,
    GridFlow,
    PairLoss,
    Trend,
    background,
    draw_slices,
    grid_generators,
    neighbor_pairs,
    select_grid_flow,
    shrink,
)
from domindex.geometry.rings import RingCoordinate


def test_a_turn_by_a_right_angle_is_exact():
    picture = np.random.default_rng(0).normal(size=(5, 5))
    quarter = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    seen = (Grid((5, 5)).sampling(quarter) @ picture.ravel()).reshape(5, 5)
    assert np.allclose(seen, picture.T[:, ::-1]) or np.allclose(seen, picture.T[::-1])


def test_a_shift_by_a_cell_brings_in_nothing_from_outside():
    grid = Grid((4, 8))
    shift = np.eye(3)
    shift[1, 2] = 2 / 8
    picture = np.random.default_rng(0).normal(size=(4, 8))
    seen = (grid.sampling(shift) @ picture.ravel()).reshape(4, 8)
    assert np.allclose(seen[:, :-1], picture[:, 1:])
    assert np.allclose(seen[:, -1], 0.0)


def test_between_cells_signals_are_interpolated():
    grid = Grid((3,))
    numbers, weights, slopes = grid.taps(np.array([[-1 / 3]]))
    assert weights.sum() == pytest.approx(1.0)
    assert sorted(numbers.ravel()) == [0, 1]
    assert np.abs(slopes).max() == pytest.approx(1.5)


def test_cells_drawn_together_are_averaged():
    halved = Grid((8,)).sampling(np.diag([2.0, 1.0])) @ np.resize([0.0, 1.0], 8)
    assert halved[3:5] == pytest.approx([0.5, 0.5])


def test_long_sides_are_averaged_by_blocks():
    rows = np.arange(2 * 9 * 4, dtype=float).reshape(2, 1, 9, 4)
    small = shrink(rows, 4)
    assert small.shape == (2, 1, 3, 4)
    assert np.allclose(small[0, 0, 0], rows[0, 0, :3].mean(axis=0))
    assert shrink(rows, 9) is not None
    assert np.array_equal(shrink(rows, 9), rows)


@pytest.mark.parametrize("n_axes", [1, 2])
def test_families_grow(n_axes):
    sizes = [len(grid_generators(name, n_axes)) for name in FAMILIES[n_axes]]
    assert sizes[0] == 0
    assert max(sizes[:-1]) < sizes[-1]
    assert sizes[-1] == n_axes * (n_axes + 1)


def test_an_unknown_family_is_refused():
    with pytest.raises(InputError, match="Choose one of"):
        grid_generators("spin", 2)


def test_strains_are_symmetric_leave_areas_and_shift_nothing():
    strains = grid_generators("affine", 2)[-2:]
    for strain in strains:
        linear, shift = strain[:, :2], strain[:, 2]
        np.testing.assert_array_equal(linear, linear.T)
        assert np.trace(linear) == 0.0
        assert not shift.any()
    assert np.sum(strains[0] * strains[1]) == 0.0


@pytest.mark.parametrize("n_axes", [1, 2])
def test_every_generator_moves_the_edge_at_unit_speed(n_axes):
    for family in FAMILIES[n_axes]:
        for generator in grid_generators(family, n_axes):
            linear, shift = generator[:, :-1], generator[:, -1]
            edge = np.eye(n_axes)[0]
            assert np.linalg.norm(linear @ edge + shift) == 1.0


@pytest.mark.parametrize("shape", [(7, 2, 5, 6), (7, 3, 8)], ids=["pictures", "signals"])
def test_the_background_is_what_stands_at_the_rim(shape):
    rows = np.random.default_rng(0).normal(size=shape)
    level, spread = background(rows)
    for channel in range(shape[1]):
        cells = rows[:, channel]
        rim = [cells[:, 0], cells[:, -1]]
        if len(shape) == 4:
            rim += [cells[:, :, 0], cells[:, :, -1]]
        expected = np.median(np.concatenate([part.ravel() for part in rim]))
        assert level[channel] == pytest.approx(expected)
        assert spread[channel] == pytest.approx(cells.std())
    assert (background(np.ones(shape))[1] == 1.0).all()


PAIRS = np.array([[0, 1], [1, 2], [3, 2], [0, 3]])


def a_loss(sides, n_channels, rng):
    grid = Grid(sides)
    pictures = rng.normal(size=(4, n_channels, grid.size, 9))
    slices = draw_slices(5, n_channels, grid, (0.1, 0.2))
    generators = grid_generators("affine", len(sides))
    return PairLoss(pictures, grid, slices, PAIRS, rng.normal(size=(4, 2)), generators)


@pytest.mark.parametrize(("sides", "n_channels"), [((6, 7), 2), ((20,), 3)])
def test_the_gradient_is_that_of_the_loss(sides, n_channels):
    rng = np.random.default_rng(0)
    loss = a_loss(sides, n_channels, rng)
    still = FlowParameters.still(2, len(loss.generators), n_channels)
    start = 0.1 * rng.normal(size=still.flat.size)
    _, slope = loss.mean(still.filled(start))
    for number in range(len(start)):
        step = np.zeros_like(start)
        step[number] = 1e-6
        up, down = (loss.mean(still.filled(start + s))[0] for s in (step, -step))
        assert slope.flat[number] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_same_pictures_are_no_distance_apart():
    rng = np.random.default_rng(0)
    grid, picture = Grid((6, 6)), rng.normal(size=(1, 1, 36, 8))
    loss = PairLoss(
        np.repeat(picture, 4, axis=0),
        grid,
        draw_slices(4, 1, grid, (0.1,)),
        PAIRS,
        rng.normal(size=(4, 1)),
        grid_generators("affine", 2),
    )
    assert loss.by_pair(FlowParameters.still(1, 6, 1)) == pytest.approx(0.0, abs=1e-12)
    turned = FlowParameters.still(1, 6, 1).filled(np.array([0.0, 0.0, 0.5]))
    assert loss.by_pair(turned).min() > 0.01


N_DOMAINS, N_ROWS = 6, 40


def blobs(rng, n_rows, side=12):
    """Pictures with two spots each, off the middle: all different, none symmetric."""
    cells = (np.arange(side) + 0.5) / side * 2 - 1
    y, x = np.meshgrid(cells, cells, indexing="ij")
    pictures = np.zeros((n_rows, side, side))
    for middle, height in (((-0.35, 0.1), 1.0), ((0.1, 0.4), 0.6)):
        at = np.array(middle) + 0.06 * rng.normal(size=(n_rows, 2))
        gaps = (y - at[:, 0, None, None]) ** 2 + (x - at[:, 1, None, None]) ** 2
        pictures += height * np.exp(-gaps / 0.05)
    return pictures


def moving(rng, move):
    """Rows (n, 1, 12, 12) of domains along a line, the domain of each, and the line."""
    line = np.linspace(-1.5, 1.5, N_DOMAINS)
    rows = np.concatenate([move(blobs(rng, N_ROWS), place) for place in line])
    return rows[:, None], np.repeat(np.arange(N_DOMAINS), N_ROWS), line[:, None]


def turned(pictures, place):
    return ndimage.rotate(pictures, 25 * place, axes=(1, 2), reshape=False, order=1)


def shifted(pictures, place):
    return ndimage.shift(pictures, (0, place, -0.5 * place), order=1)


def lit(pictures, place):
    return pictures * np.exp(0.3 * place) + 0.2 * place


@lru_cache
def found(move):
    rng = np.random.default_rng(0)
    rows, domains, line = moving(rng, move)
    gaps = np.abs(line - line.T)
    return select_grid_flow(rows, domains, line, gaps).flow, rows, domains, line


def test_a_turn_is_found_with_its_speed():
    flow, _, _, line = found(turned)
    assert (flow.family, flow.is_lit) == ("turn", False)
    maps = flow.maps(line)
    angles = np.degrees(np.arctan2(maps[:, 0, 1], maps[:, 0, 0]))
    slope = np.polyfit(line[:, 0], angles, 1)[0]
    assert abs(slope) == pytest.approx(25, abs=3)


@pytest.mark.full
def test_a_shift_is_found_and_taken_back():
    flow, rows, domains, line = found(shifted)
    assert flow.family == "shift"
    carried = np.stack(
        [flow.carry(rows[domains == d], line[d]).mean(axis=0) for d in range(N_DOMAINS)]
    )
    before = np.stack([rows[domains == d].mean(axis=0) for d in range(N_DOMAINS)])
    assert carried.std(axis=0).mean() < 0.4 * before.std(axis=0).mean()


@pytest.mark.full
def test_light_is_told_from_motion():
    flow, rows, domains, line = found(lit)
    assert flow.family == "none"
    assert flow.is_lit
    levels = [flow.carry(rows[domains == d], line[d]).mean() for d in range(N_DOMAINS)]
    assert np.std(levels) < 0.1 * np.std([rows[domains == d].mean() for d in range(N_DOMAINS)])


def test_where_nothing_moves_nothing_is_found():
    flow, rows, _, line = found(lambda pictures, place: pictures)
    assert flow.is_still
    assert np.allclose(flow.carry(rows[:3], line[0]), rows[:3])


def test_a_signal_is_stretched_back():
    rng = np.random.default_rng(0)
    line = np.linspace(-1.0, 1.0, N_DOMAINS)
    time = np.linspace(-1, 1, 48)
    rows, domains = [], np.repeat(np.arange(N_DOMAINS), N_ROWS)
    for place in line:
        at = np.array([-0.35, 0.3]) + 0.04 * rng.normal(size=(N_ROWS, 2))
        now = time * np.exp(-0.3 * place)
        pulses = np.exp(-(((now[None, :, None] - at[:, None]) / 0.12) ** 2))
        rows.append(pulses @ [1.0, 0.7])
    flow = select_grid_flow(
        np.concatenate(rows)[:, None], domains, line[:, None], np.abs(line[:, None] - line)
    ).flow
    assert flow.family in ("stretch", "affine")
    scales = np.log(flow.maps(line[:, None])[:, 0, 0])
    assert np.polyfit(line, scales, 1)[0] == pytest.approx(0.3, abs=0.05)


def test_a_flow_comes_back_from_its_state():
    flow, rows, _, line = found(shifted)
    again = GridFlow.from_state(flow.state())
    assert np.array_equal(again.carry(rows[:5], line[1]), flow.carry(rows[:5], line[1]))
    for damaged in ({"family": "spin"}, {"sides": [3]}, {"motion": flow.motion * np.nan}):
        with pytest.raises(ValueError, match=r"family|fit|numbers"):
            GridFlow.from_state({**flow.state(), **damaged})


def test_few_domains_are_compared_both_ways():
    gaps = np.abs(np.arange(2.0)[:, None] - np.arange(2.0))
    assert neighbor_pairs(gaps, (1, 2)).tolist() == [[0, 1], [1, 0]]
    many = np.abs(np.arange(200.0)[:, None] - np.arange(200.0))
    assert len(neighbor_pairs(many, (1, 2, 4, 8))) == 120


N_AROUND, N_ROWS_AROUND = 8, 24
ANGLES = np.linspace(0, 2 * np.pi, N_AROUND, endpoint=False)


def around(move):
    """What is found of domains on a ring, the first three of which are sources."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([move(blobs(rng, N_ROWS_AROUND, 8), angle) for angle in ANGLES])[:, None]
    domains = np.repeat(np.arange(N_AROUND), N_ROWS_AROUND)
    places = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    ring = RingCoordinate.opposite(ANGLES, np.arange(N_AROUND) < 3)
    return select_grid_flow(rows, domains, places, gaps, around=(ring, ANGLES))


@pytest.mark.full
def test_what_turns_on_around_a_ring_is_followed_around_it():
    def turn(pictures, angle):
        degrees = np.degrees(angle)
        return ndimage.rotate(pictures, degrees, axes=(1, 2), reshape=False, order=1)

    selected = around(turn)
    along = selected.ring.of(ANGLES)
    maps = selected.flow.maps(along[:, None])
    turned_by = np.unwrap(np.arctan2(maps[:, 0, 1], maps[:, 0, 0])[np.argsort(along)])
    slope = np.polyfit(np.sort(along), turned_by, 1)[0]
    assert abs(slope) == pytest.approx(1.0, abs=0.05)


@pytest.mark.full
def test_what_comes_back_after_a_turn_is_told_by_the_place():
    def shift(pictures, angle):
        return ndimage.shift(pictures, (0, np.cos(angle), np.sin(angle)), order=1)

    selected = around(shift)
    assert selected.ring is None
    assert selected.flow.family == "shift"


@pytest.mark.parametrize("kind", ["line", "curve", "free"])
def test_a_place_reached_the_other_way_round_is_a_whole_turn_away(kind):
    trend = Trend.along(kind, ANGLES[:, None] - np.pi, is_around=True)
    there, back = trend.features(np.array([[2.0], [2.0 - 2 * np.pi]]))
    low, high = trend.features(np.array([[-np.pi + 1e-9], [np.pi]]))
    assert np.allclose(there - back, high - low)
    assert np.allclose(trend.features(np.zeros((1, 1))), 0.0)
    again = Trend.from_state(trend.state())
    assert np.array_equal(again.features(np.array([[2.0]]))[0], there)
    two = {name: np.zeros(2) for name in ("low", "high")} | {"anchors": np.zeros((0, 2))}
    with pytest.raises(ValueError, match="one coordinate"):
        Trend.from_state({**trend.state(), **two})
