"""How far outputs are believed to reach."""

from dataclasses import replace

import numpy as np
import pytest

from domindex.committee.folds import Fold, HeldOutRows
from domindex.committee.weighing import KnownOutputs, OutputRange
from domindex.inputs import check_domain_data


@pytest.fixture
def data():
    """Sources reach -1 to 2 and 0 to 4; inputs are in other units."""
    X = np.array([[1e3], [2e3], [3e3], [4e3], [5e3], [6e3]])
    y = [-1.0, 2.0, 0.0, 4.0, np.nan, 99.0]
    return check_domain_data(X, y, ["a", "a", "b", "b", "t", "t"], ["a", "b"], task="regression")


@pytest.fixture
def folds():
    a, b, one = np.array([0, 1]), np.array([2, 3]), np.ones(1)
    return (
        Fold("near", a, b, np.array([1]), one),
        Fold("near", b, a, np.array([0]), one),
    )


@pytest.fixture
def reach(data, folds):
    return OutputRange.of(data, folds)


def test_the_range_is_extended_by_what_held_out_sources_had_beyond_the_others(reach):
    np.testing.assert_allclose(reach.least, [-1.0 - 1.0])
    np.testing.assert_allclose(reach.largest, [4.0 + 2.0])


def test_inputs_in_the_same_units_extend_it_further(data, folds):
    wide = replace(data, inputs=np.array([[0.0], [4.0], [1.0], [4.0], [2.0], [8.0]]))
    reach = OutputRange.of(wide, folds)
    assert reach.largest >= 7.0


def test_values_outside_are_drawn_to_the_edge(reach):
    values = np.array([[-50.0], [3.0], [50.0]])
    np.testing.assert_allclose(reach.clip(values), [[-2.0], [3.0], [6.0]])
    np.testing.assert_allclose(reach.clip(values[None])[0], reach.clip(values))


def test_an_error_in_plain_sight_is_counted_in_units_of_spread(reach):
    values = np.array([[-4.0], [3.0], [10.0]])
    np.testing.assert_allclose(reach.outside(values, np.array([2.0])), [1.0, 0.0, 2.0])


def test_rows_that_count_for_nothing_do_not_extend_it(data):
    weights = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    assert OutputRange.of(replace(data, weights=weights), ()).largest == 2.0


def test_a_state_comes_back_and_a_damaged_one_is_refused(reach):
    again = OutputRange.from_state(reach.state())
    np.testing.assert_array_equal(again.least, reach.least)
    np.testing.assert_array_equal(again.largest, reach.largest)
    with pytest.raises(ValueError, match="no range"):
        OutputRange.from_state({"least": np.ones(1), "largest": np.zeros(1)})
    with pytest.raises(ValueError, match="no range"):
        OutputRange.from_state({"least": np.zeros(1), "largest": np.ones(2)})


def test_where_outputs_drift_and_targets_lie_far_the_drift_may_go_on(data, folds):
    """The means are 0.5 and 2 at a distance of 1: a slope of 1.5 either way."""
    near, far = OutputRange.of(data, folds, 1.0), OutputRange.of(data, folds, 5.0)
    np.testing.assert_allclose(near.largest, [6.0])
    np.testing.assert_allclose(far.largest, [6.0 + 4 * 1.5])
    np.testing.assert_allclose(far.least, [-2.0 - 4 * 1.5])


def test_a_slow_drift_goes_on_slowly_and_only_the_way_it_goes(data, folds):
    apart = tuple(replace(fold, distance=np.full(1, 6.0)) for fold in folds)
    reach = OutputRange.of(data, apart, 10.0)
    np.testing.assert_allclose(reach.largest, [6.0 + 4 * 0.25])
    np.testing.assert_allclose(reach.least, [-2.0 - 4 * 0.25])
    rising = OutputRange.of(data, folds[:1], 5.0)
    np.testing.assert_allclose(rising.largest, [6.0 + 4 * 1.5])
    np.testing.assert_allclose(rising.least, [-1.0])


def test_held_out_sources_in_one_place_witness_no_drift(data, folds):
    still = tuple(replace(fold, distance=np.zeros(1)) for fold in folds)
    np.testing.assert_allclose(OutputRange.of(data, still, 5.0).largest, [6.0])


def test_what_was_never_negative_stays_so(data, folds):
    amounts = replace(data, labels=data.labels + 1.0)
    np.testing.assert_allclose(OutputRange.of(amounts, folds, 5.0).least, [0.0])
    small = replace(data, labels=data.labels + 1.5)
    np.testing.assert_allclose(OutputRange.of(small, folds, 5.0).least, [0.0])
    hardly = replace(data, labels=data.labels - 3.5)
    np.testing.assert_allclose(OutputRange.of(hardly, folds).largest, [0.5 + 2.0])
    debts = replace(data, labels=data.labels - 4.0)
    np.testing.assert_allclose(OutputRange.of(debts, folds, 5.0).largest, [0.0])


class TestWidened:
    """Outputs rise from domain to domain; each source is predicted from the one beside it."""

    @pytest.fixture
    def drifting(self):
        """Three sources and a target, five rows each."""
        y = np.concatenate([np.linspace(0, 1, 5) + 2 * k - 3 for k in range(4)])
        names = np.repeat(["a", "b", "c", "t"], 5)
        X = 1e3 * y[:, None]
        return check_domain_data(X, y, names, ["a", "b", "c"], task="regression")

    @pytest.fixture
    def rows(self, drifting):
        rows, one = drifting.rows_by_domain(), np.ones(1)
        folds = [
            Fold("near", rows[learned], rows[k], np.array([k]), one)
            for k, learned in ((0, 1), (1, 0), (2, 1))
        ]
        return HeldOutRows.of(folds, drifting, smoothing=0.0)

    @pytest.fixture
    def known(self, drifting, rows):
        return KnownOutputs.of(drifting, rows.folds)

    def test_what_a_fold_learned_from_is_known_row_by_row(self, known):
        np.testing.assert_allclose(known.least.ravel(), np.repeat([-1.0, -3.0, -1.0], 5))
        np.testing.assert_allclose(known.largest.ravel(), np.repeat([0.0, -2.0, 0.0], 5))

    def test_a_rule_that_went_beyond_and_was_right_is_believed_further(self, drifting, rows, known):
        """Its farthest excursions were 2 either way."""
        common = OutputRange.of(drifting, rows.folds)
        believed = common.widened(rows.labels, rows, known)
        np.testing.assert_allclose(believed.least, common.least - 3.0 * 2.0)
        np.testing.assert_allclose(believed.largest, common.largest + 3.0 * 2.0)

    def test_one_that_went_beyond_and_was_wrong_is_not(self, drifting, rows, known):
        common = OutputRange.of(drifting, rows.folds)
        wrong = rows.labels + 5.0
        assert common.widened(wrong, rows, known) is common

    def test_one_that_stayed_inside_is_not(self, drifting, rows, known):
        common = OutputRange.of(drifting, rows.folds)
        assert common.widened(known.clip(rows.labels), rows, known) is common

    def test_one_domain_alone_is_no_evidence(self, drifting, rows, known):
        """Right in one held-out domain of three: that may be chance."""
        common = OutputRange.of(drifting, rows.folds)
        once = known.clip(rows.labels)
        once[-5:] = rows.labels[-5:]
        assert common.widened(once, rows, known) is common

    def test_what_was_never_negative_stays_so_however_right_the_rule(self, rows, known):
        tight = OutputRange(np.array([0.5]), np.array([9.0]))
        assert tight.widened(rows.labels, rows, known).least == 0.0
        debts = OutputRange(np.array([-9.0]), np.array([-0.5]))
        assert debts.widened(rows.labels, rows, known).largest == 0.0


def test_members_are_each_kept_within_their_own_reach(reach):
    wide = OutputRange(np.array([-9.0]), np.array([9.0]))
    values = np.array([[[-50.0], [3.0]], [[-50.0], [3.0]]])
    kept = OutputRange.joined([reach, wide]).clip(values)
    np.testing.assert_allclose(kept, [[[-2.0], [3.0]], [[-9.0], [3.0]]])
