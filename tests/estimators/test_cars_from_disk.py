"""Photographs are read as they are needed, and one that is damaged is named."""

import pytest
from torch import nn

from domindex import Backbone, CrossDomainClassifier, Training
from domindex.errors import InputError
from domindex_bench.data.compcars import CompCars
from domindex_bench.data.drawn_cars import write_generated_compcars

pytest.importorskip("PIL.Image", reason="pip install 'domindex[pictures]'")


@pytest.fixture
def cars(tmp_path):
    return CompCars(write_generated_compcars(tmp_path, pictures_per_type=2), size=16)


def model():
    pooled = nn.Sequential(nn.AvgPool2d(4), nn.Flatten())
    return CrossDomainClassifier(
        backbone=Backbone(pooled, frozen=True),
        representation="raw",
        predictor="linear",
        training=Training(index_steps=2),
        random_state=0,
    )


def test_a_model_is_fitted_on_photographs_that_are_never_all_in_memory(cars):
    fitted = model().fit(cars, source_domains=cars.source_domains)
    assert set(fitted.domains_) == set(cars.domains)
    x, _, domain = cars[0]
    assert fitted.predict(x[None], sample_domain=[domain])[0] in range(4)


def test_a_damaged_photograph_is_named_by_its_path_in_a_fit(cars):
    path = cars.photographs[7].path
    path.write_bytes(b"no picture")
    with pytest.raises(InputError, match="is damaged or no picture") as caught:
        model().fit(cars, source_domains=cars.source_domains)
    assert str(path) in str(caught.value)
