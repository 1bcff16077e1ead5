"""Saved models of every format that is promised to open still do, and predict what they did."""

import json
from pathlib import Path

import numpy as np
import pytest

import domindex
from domindex.errors import InputError
from domindex.persistence.model_folder import FORMAT_VERSION

FORMATS = Path(__file__).parent / "formats"
FIRST_TO_LAST = 3
"""Format 2, of 0.1.0, is refused by name: it holds no committee."""

PROMISED = [str(number) for number in range(FIRST_TO_LAST, FORMAT_VERSION + 1)]


@pytest.mark.parametrize("number", PROMISED)
def test_a_model_of_every_promised_format_opens_and_predicts_what_it_did(number):
    expected = json.loads((FORMATS / number / "expected.json").read_text())
    X, names = np.array(expected["X"]), expected["domains"]
    classifier = domindex.load(FORMATS / number / "classes")
    regressor = domindex.load(FORMATS / number / "values")
    found = classifier.predict_proba(X, sample_domain=names)
    np.testing.assert_allclose(found, expected["classes"], rtol=1e-7, atol=1e-9)
    found = regressor.predict(X, sample_domain=names)
    np.testing.assert_allclose(found, expected["values"], rtol=1e-7, atol=1e-9)


def test_a_model_that_was_fitted_with_no_flow_opens_and_is_not_fitted_so_again():
    """Written at format 3, when `flow=None` was a choice."""
    expected = json.loads((FORMATS / "3" / "expected.json").read_text())
    X, names = np.array(expected["X"]), expected["domains"]
    model = domindex.load(FORMATS / "3" / "no_flow")
    found = model.predict_proba(X, sample_domain=names)
    np.testing.assert_allclose(found, expected["no_flow"], rtol=1e-7, atol=1e-9)
    with pytest.raises(InputError, match="flow is None"):
        model.fit(X, found[:, 0] > 0.5, sample_domain=names, source_domains=names[:1])


def test_the_models_say_their_format():
    for number in PROMISED:
        for path in (FORMATS / number).glob("*/model.json"):
            assert json.loads(path.read_text())["format_version"] == int(number)
