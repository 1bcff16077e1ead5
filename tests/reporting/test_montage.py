"""Pictures that stand for domains: which they are, how they look, how little they weigh."""

import base64
import io

import numpy as np
import pytest

from domindex import CrossDomainClassifier, Training
from domindex.errors import InputError
from domindex.reporting import ReportData, report_data
from domindex.reporting.montage import (
    DATA_URI,
    are_pictures,
    domain_pictures,
    picture_uri,
    png_bytes,
    spread_out,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((8, 8), True),
        ((1, 8, 8), True),
        ((24, 32, 3), True),
        ((3, 24, 32), True),
        ((100, 3), False),
        ((200, 12), False),
        ((5, 24, 32), False),
        ((12,), False),
        ((2, 3, 8, 8), False),
    ],
)
def test_pictures_are_distinguished_from_signals_and_tables(shape, expected):
    assert are_pictures(shape) is expected


def test_the_nearest_row_to_the_mean_stands_for_a_domain_or_the_mean_itself():
    rows = np.zeros((4, 6, 6))
    rows[:3, 0, 0], rows[3] = [0.0, 1.0, 5.0], 10.0
    nearest = domain_pictures(rows, ["a", "a", "a", "b"], ["a", "b"])
    assert nearest.shape == (2, 6, 6, 3)
    assert nearest[0, 0, 0].tolist() == [26, 26, 26], "1 of 0 to 10"
    assert (nearest[1] == 255).all()
    mean = domain_pictures(rows, ["a", "a", "a", "b"], ["b", "a"], "mean")
    assert mean[1, 0, 0, 0] == 51, "2 of 0 to 10"


def test_channels_may_come_first_or_last():
    last = RNG.random((2, 8, 10, 3))
    first = last.transpose(0, 3, 1, 2)
    names = ["a", "b"]
    np.testing.assert_array_equal(
        domain_pictures(last, names, names), domain_pictures(first, names, names)
    )


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(InputError, match="kind is 'median'"):
        domain_pictures(np.zeros((1, 8, 8)), ["a"], ["a"], "median")


@pytest.mark.parametrize("grey", [True, False])
def test_a_png_is_what_was_drawn(grey):
    image = pytest.importorskip("PIL.Image")
    picture = RNG.integers(0, 256, size=(7, 5, 3)).astype(np.uint8)
    if grey:
        picture[:] = picture[..., :1]
    opened = image.open(io.BytesIO(png_bytes(picture)))
    assert opened.mode == ("L" if grey else "RGB")
    np.testing.assert_array_equal(np.asarray(opened.convert("RGB")), picture)


def test_even_noise_weighs_little_and_plain_pictures_keep_their_size():
    image = pytest.importorskip("PIL.Image")
    noise = RNG.integers(0, 256, size=(224, 160, 3)).astype(np.uint8)
    for picture, size in ((noise, None), (np.full((8, 8, 3), 9, np.uint8), (8, 8))):
        address = picture_uri(picture)
        assert address.startswith(DATA_URI)
        content = base64.b64decode(address.removeprefix(DATA_URI))
        assert len(content) <= 2000
        shown = image.open(io.BytesIO(content)).size
        assert size is None or shown == size
        assert shown[0] / shown[1] == pytest.approx(picture.shape[1] / picture.shape[0], abs=0.05)


def test_pictures_that_are_too_many_are_spread_over_the_map():
    line = np.arange(100.0)[:, None]
    assert spread_out(line, 200) == list(range(100))
    chosen = spread_out(line, 5)
    assert len(chosen) == 5
    assert {0, 99} <= set(chosen)
    assert np.diff(chosen).max() <= 50
    assert spread_out(np.zeros((3, 2)), 2) == [0, 1]


@pytest.fixture(scope="module")
def picture_report():
    """Bars that move from domain to domain: the class is whether a bar is bright."""
    n, side = 20, 8
    domains = np.repeat(np.arange(5), n)
    y = np.tile([0, 1], len(domains) // 2)
    X = RNG.normal(scale=0.05, size=(len(domains), side, side))
    X[np.arange(len(X)), :, domains] += 1.0 + y[:, None]
    names = [f"bar {number}" for number in domains]
    model = CrossDomainClassifier(
        representation="raw",
        predictor="linear",
        training=Training(index_steps=2),
        random_state=0,
    ).fit(X, y, sample_domain=names, source_domains=["bar 0", "bar 1"])
    return report_data(model, X, y, names, budget=0)


def test_a_report_on_pictures_holds_one_of_every_domain_and_comes_back(picture_report):
    assert all(one.picture.startswith(DATA_URI) for one in picture_report.domains)
    assert len({one.picture for one in picture_report.domains}) == 5
    assert ReportData.from_dict(picture_report.to_dict()) == picture_report


def test_a_report_that_was_written_without_pictures_can_still_be_read(picture_report):
    content = picture_report.to_dict()
    for one in content["domains"]:
        del one["picture"]
    assert ReportData.from_dict(content).domains[0].picture is None


def test_a_report_on_a_table_has_none(data):
    assert {one.picture for one in data.domains} == {None}
