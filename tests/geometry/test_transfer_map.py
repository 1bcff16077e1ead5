"""The map of a table: means of ranked columns and of labels, small domains drawn in."""

import numpy as np
import pytest

from domindex.geometry.scaling import procrustes_align
from domindex.geometry.transfer_map import TransferMap, column_ranks, rule_losses

RNG = np.random.default_rng(0)


def family(n_domains=20, n_rows=60, n_columns=4, seed=0):
    """Rows and labels of domains whose means drift along two columns."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_domains, n_columns)) * [1.0, 0.5, 0.0, 0.0]
    clouds = [rng.normal(size=(n_rows, n_columns)) + centre for centre in centres]
    return clouds, [cloud[:, :1] + rng.normal(size=(n_rows, 1)) for cloud in clouds]


def drawn(clouds, labels, **how):
    found = TransferMap.fit(range(len(clouds)), clouds, labels, **how)
    assert found is not None
    return found


def test_ranks_are_the_share_of_values_below_and_ties_count_half():
    values = RNG.normal(size=(1001, 1))
    ranks = column_ranks(values, np.quantile(values, np.linspace(0, 1, 129), axis=0))
    expected = values[:, 0].argsort().argsort() / 1000
    np.testing.assert_allclose(ranks[:, 0], expected, atol=0.01)
    binary = np.repeat([[0.0], [1.0]], [750, 250], axis=0)
    ranks = column_ranks(binary, np.quantile(binary, np.linspace(0, 1, 129), axis=0))
    np.testing.assert_allclose(np.unique(ranks), [0.375, 0.875], atol=0.01)


def test_units_of_columns_and_outputs_do_not_matter():
    clouds, labels = family()
    one = drawn(clouds, labels)
    other = drawn([np.exp(cloud) * [1, 1e3, 1e-6, 1] for cloud in clouds], [9 * y for y in labels])
    np.testing.assert_allclose(one.positions[:, :2], other.positions[:, :2], atol=1e-2)


def test_domains_with_the_same_inputs_lie_apart_where_their_labels_differ():
    clouds = [RNG.normal(size=(300, 2)) for _ in range(6)]
    labels = [np.full((300, 1), float(number)) for number in range(6)]
    order = drawn(clouds, labels).index.coordinates[:, 0]
    assert abs(np.corrcoef(order, np.arange(6))[0, 1]) > 0.99


def test_a_domain_of_one_row_lies_among_the_others_and_moves_none():
    clouds, labels = family(n_domains=52)
    alone = drawn(clouds, labels)
    stray = [np.array([[30.0, -30.0, 30.0, -30.0]])], [np.array([[30.0]])]
    beside = drawn([*clouds, *stray[0]], [*labels, *stray[1]])
    shown = procrustes_align(beside.index.coordinates[:52], alone.index.coordinates)
    moved = np.abs(shown - alone.index.coordinates)
    assert (moved <= alone.deviations(alone.sizes)).all()
    lengths = np.linalg.norm(beside.index.coordinates, axis=1)
    assert lengths[52] < lengths[:52].max()


def test_eighty_percent_ellipses_hold_another_sample_of_the_domains_in_about_80_percent():
    held = []
    for seed in range(10):
        clouds, labels = family(n_domains=30, n_rows=100, seed=seed)
        halves = [
            drawn([one[side::2] for one in clouds], [one[side::2] for one in labels])
            for side in (0, 1)
        ]
        other = procrustes_align(halves[1].index.coordinates, halves[0].index.coordinates)
        gaps = (other - halves[0].index.coordinates) / halves[0].deviations(halves[0].sizes)
        held += ((gaps**2).sum(axis=1) <= -2 * np.log(0.2)).tolist()
    assert 0.75 < np.mean(held) < 0.85


def test_a_new_domain_is_placed_where_it_would_have_been_drawn():
    clouds, labels = family(n_domains=40, n_rows=200)
    whole, part = drawn(clouds, labels), drawn(clouds[1:], labels[1:])
    new = part.with_domains(["new"], clouds[:1], labels[:1])
    np.testing.assert_array_equal(new.positions[:-1], part.positions)
    shown = np.roll(new.index.coordinates, 1, axis=0)
    gaps = procrustes_align(shown, whole.index.coordinates) - whole.index.coordinates
    assert np.abs(gaps).max() < 0.2
    assert new.index.domains[-1] == "new"


def test_no_domain_at_all_is_placed_nowhere():
    assert drawn(*family()).locate([], []).shape[0] == 0


@pytest.mark.parametrize(
    "case",
    ["constant labels", "one constant column", "more columns than rows", "two domains"],
)
def test_odd_tables_have_a_map_of_finite_numbers(case):
    clouds, labels = family(n_domains=2 if case == "two domains" else 12)
    if case == "constant labels":
        labels = [np.zeros_like(one) for one in labels]
    if case == "one constant column":
        clouds = [np.hstack([one, np.ones((len(one), 1))]) for one in clouds]
    if case == "more columns than rows":
        clouds = [one[:3] @ np.ones((4, 90)) + RNG.normal(size=(3, 90)) for one in clouds]
        labels = [one[:3] for one in labels]
    index = drawn(clouds, labels).index
    assert index.coordinates.shape == (len(clouds), 2)
    assert np.isfinite(index.coordinates).all()
    assert np.isfinite(index.distances).all()


def test_there_is_no_map_where_nothing_differs():
    clouds, labels = [np.ones((5, 2))] * 4, [np.zeros((5, 1))] * 4
    assert TransferMap.fit(range(4), clouds, labels) is None


def test_it_comes_back_from_its_state():
    one = drawn(*family())
    again = TransferMap.from_state(one.state())
    np.testing.assert_array_equal(again.index.coordinates, one.index.coordinates)
    for name, damaged in [
        ("positions", one.positions[:3]),
        ("matrix", one.matrix[:, :1]),
        ("between", one.between[:1]),
        ("sizes", np.zeros_like(one.sizes)),
        ("landmarks", [99]),
    ]:
        with pytest.raises(ValueError, match=r"map|places|axes|columns"):
            TransferMap.from_state(one.state() | {name: damaged})


def test_sources_say_how_far_distances_can_be_trusted():
    """The slope of y drifts with the first column; then it is drawn at random."""
    rng, found = np.random.default_rng(0), []
    for slopes in (np.linspace(-2, 2, 9), rng.permutation(np.linspace(-2, 2, 9))):
        clouds = [rng.normal(size=(200, 2)) + [level, 0] for level in np.linspace(-3, 3, 9)]
        labels = [slope * one[:, 1:] for slope, one in zip(slopes, clouds)]
        found.append(drawn(clouds, labels, is_source=np.arange(9) < 8))
    assert [one.n_compared for one in found] == [8, 8]
    assert found[0].source_correlation > 0.8
    assert abs(found[1].source_correlation) < 0.6


def test_few_sources_say_nothing_of_it():
    clouds, labels = family(n_domains=8)
    assert drawn(clouds, labels, is_source=np.arange(8) < 3).source_correlation is None


def test_a_rule_loses_nothing_where_it_was_learned():
    clouds, labels = family(n_domains=5)
    losses = rule_losses(
        [column_ranks(one, np.sort(np.concatenate(clouds), axis=0)) for one in clouds], labels
    )
    np.testing.assert_allclose(np.diag(losses), 0.0)
