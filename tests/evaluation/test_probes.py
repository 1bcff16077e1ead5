"""Lower bounds on information, where the truth is known in closed form."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from domindex.errors import InputError
from domindex.evaluation import probe_classes, probe_values
from domindex.evaluation.audit import best_linear_r2

ROWS = 900


def gaussian_pair(correlation, size=1, seed=0):
    """Values and features with I = −½ log(1 − ρ²) for each of their components."""
    rng = np.random.default_rng(seed)
    values, noise = rng.normal(size=(2, ROWS, size))
    return values, correlation * values + np.sqrt(1 - correlation**2) * noise


def gaussian_information(correlation, size=1):
    return -0.5 * size * np.log(1 - correlation**2)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_values_of_a_correlated_normal_are_read_up_to_the_known_information(correlation):
    probe = probe_values(*gaussian_pair(correlation))
    truth = gaussian_information(correlation)
    assert 0.9 * truth - 0.01 < probe.information < truth + 3 * probe.standard_error + 1e-3
    assert probe.r2 == pytest.approx(correlation**2, abs=0.05)


def test_components_add_up():
    probe = probe_values(*gaussian_pair(0.7, size=4))
    truth = gaussian_information(0.7, size=4)
    assert 0.85 * truth < probe.information < truth + 3 * probe.standard_error


@pytest.mark.parametrize("seed", range(4))
def test_what_is_unrelated_reads_as_nothing(seed):
    rng = np.random.default_rng(seed)
    values, features = rng.normal(size=(2, 300, 3))
    probe = probe_values(values, features)
    assert probe.information < 3 * probe.standard_error + 1e-3
    assert probe.r2 < 0.02


def test_the_bound_does_not_need_normal_values():
    """A fair sign holds log 2 and no more, however little is left of its variance."""
    rng = np.random.default_rng(0)
    sign = rng.choice([-1.0, 1.0], size=ROWS)
    probe = probe_values(sign, (sign + 0.01 * rng.normal(size=ROWS))[:, None])
    assert 0.6 < probe.information < np.log(2) + 0.01
    assert probe.r2 > 0.99


def test_a_perfect_copy_reads_as_much_as_the_rows_can_show_and_no_more():
    values = np.random.default_rng(0).normal(size=(ROWS, 2))
    probe = probe_values(values, values)
    assert probe.ceiling == pytest.approx(np.log(ROWS / 3))
    assert 0.98 * probe.ceiling < probe.information <= probe.ceiling
    many = np.random.default_rng(0).normal(size=(4000, 1))
    assert probe_values(many, many).ceiling < np.log(1000)


def test_a_curved_relation_is_seen():
    features = np.random.default_rng(0).uniform(-3, 3, size=(ROWS, 1))
    assert probe_values(np.sin(2 * features), features).r2 > 0.95


def two_classes_information(shift):
    """I(c; f) for fair classes c = ±1 and f ~ N(shift · c, 1), by quadrature."""
    loss, _ = quad(lambda f: norm.pdf(f, shift) * np.log1p(np.exp(-2 * shift * f)), -12, 12)
    return np.log(2) - loss


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 2.0])
def test_two_normal_classes_are_read_up_to_the_known_information(shift):
    rng = np.random.default_rng(0)
    classes = np.tile([-1, 1], ROWS)
    probe = probe_classes(classes, rng.normal(shift * classes)[:, None])
    truth = two_classes_information(shift)
    assert 0.9 * truth - 0.01 < probe.information < truth + 3 * probe.standard_error
    assert probe.accuracy == pytest.approx(norm.cdf(shift), abs=0.03)
    assert probe.chance == 0.5


@pytest.mark.parametrize("seed", range(4))
def test_classes_of_noise_are_not_predicted_better_than_by_chance(seed):
    rng = np.random.default_rng(seed)
    probe = probe_classes(rng.integers(6, size=300), rng.normal(size=(300, 3)))
    assert probe.information < 0.02
    assert probe.accuracy < probe.chance + 0.06


def test_classes_that_differ_in_shape_alone_are_recognised():
    """Rings: no straight line tells them."""
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=600)
    angle = rng.uniform(0, 2 * np.pi, size=600)
    rings = (classes + 1)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    probe = probe_classes(np.array(["a", "b", "c"])[classes], rings)
    assert probe.accuracy > 0.98
    assert 0.9 * probe.ceiling < probe.information <= probe.ceiling


def test_the_same_question_gets_the_same_answer():
    values, features = gaussian_pair(0.5)
    classes = values[:, 0] > 0
    assert probe_values(values[:90], features[:90]) == probe_values(values[:90], features[:90])
    assert probe_classes(classes[:90], features[:90]) == probe_classes(classes[:90], features[:90])


def test_wide_features_and_images_are_read_from_few_rows():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(60, 8, 8))
    brightness = rng.normal(size=60)
    probe = probe_values(brightness, images + 3 * brightness[:, None, None])
    assert probe.r2 > 0.9
    assert probe_classes(brightness > 0, images + 3 * brightness[:, None, None]).accuracy > 0.8


def test_the_best_linear_summary_keeps_what_its_size_allows():
    plane = np.random.default_rng(0).normal(size=(90, 2)) @ np.eye(2, 5)
    assert best_linear_r2(plane, 2) == pytest.approx(1.0)
    assert best_linear_r2(plane, 1) == pytest.approx(0.5, abs=0.1)
    assert best_linear_r2(plane, 9) == 1.0


@pytest.mark.parametrize(
    ("labels", "features", "message"),
    [
        ([0, 1] * 10, np.zeros((20, 1)), "There are 20 rows. Pass 30 or more"),
        ([0, 1] * 20, np.zeros((41, 1)), r"shape \(40,\), but features has 41 rows"),
        ([0] * 40, np.zeros((40, 1)), "one class only"),
        (["a"] * 38 + ["b"] * 2, np.zeros((40, 1)), "'b' have fewer than 6 rows"),
        ([0, 1] * 20, np.full((40, 1), np.nan), "features contains NaN"),
    ],
)
def test_classes_that_cannot_be_read_are_refused(labels, features, message):
    with pytest.raises(InputError, match=message):
        probe_classes(labels, features)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(39), "values has 39 rows, but features has 40"),
        (np.ones(40), "same in every row"),
        (["a"] * 40, "not numeric"),
        (np.full(40, np.inf), "values contains"),
    ],
)
def test_values_that_cannot_be_read_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        probe_values(values, np.arange(40.0)[:, None])


def test_a_seed_is_a_whole_number():
    with pytest.raises(InputError, match="random_state is None"):
        probe_values(np.arange(40.0), np.arange(40.0)[:, None], random_state=None)
