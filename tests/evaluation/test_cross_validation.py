"""Sources held out in groups, with their rows kept and their labels hidden."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from domindex import MomentFlow, Training, VDIClassifier
from domindex.datasets import make_circle
from domindex.errors import InputError, PreparationWarning
from domindex.evaluation import cross_validate_domains


@pytest.fixture(scope="module")
def data():
    return make_circle(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)


def rows(data, **more):
    return {"sample_domain": data.sample_domain, "source_domains": data.source_domains} | more


def test_every_source_is_held_out_once_and_predicted_without_its_labels(data):
    model = MomentFlow(LogisticRegression())
    table = cross_validate_domains(model, data.X, data.y, **rows(data, n_splits=2))
    assert sorted(table["domain"]) == sorted(data.source_domains)
    assert table["fold"].value_counts().tolist() == [2, 2]
    assert not hasattr(model, "domains_")
    held_out = table.loc[table["fold"] == 0, "domain"].tolist()
    swapped = np.where(np.isin(data.sample_domain, held_out), 1 - data.y, data.y)
    other = cross_validate_domains(model, data.X, swapped, **rows(data, n_splits=2))
    first, second = (one.set_index("domain").loc[held_out, "accuracy"] for one in (table, other))
    np.testing.assert_allclose(first + second, 1.0, err_msg="its own labels were not used")


def test_too_few_sources_and_folds_are_refused(data):
    model = MomentFlow(LogisticRegression())
    with pytest.raises(InputError, match="two labelled domains or more"):
        cross_validate_domains(model, data.X, data.y, **rows(data, source_domains=[0]))
    with pytest.raises(InputError, match="Choose from 2 to 4"):
        cross_validate_domains(model, data.X, data.y, **rows(data, n_splits=9))


def test_columns_may_be_named_and_labels_left_empty_mark_targets(data):
    frame = pd.DataFrame(data.X, columns=["a", "b"]).assign(
        place=[f"d{number}" for number in data.sample_domain],
        label=pd.Series(data.y).where(data.is_source, np.nan),
    )
    frame.loc[0, "label"] = np.nan  # a row of a source without one
    table = cross_validate_domains(
        MomentFlow(LogisticRegression()), frame, "label", sample_domain="place", n_splits=2
    )
    assert set(table["domain"]) == {f"d{number}" for number in data.source_domains}
    assert table["rows"].sum() == data.is_source.sum() - 1
    assert table["accuracy"].between(0.0, 1.0).all()


def test_what_is_done_to_columns_is_told_once_not_by_every_fold(data):
    frame = pd.DataFrame(data.X, columns=["a", "b"]).assign(code=np.arange(len(data.X)))
    frame.loc[0, "a"] = np.nan
    model = VDIClassifier(candidates=[("raw", "linear")], training=Training(index_steps=2))
    with pytest.warns(PreparationWarning) as told:
        cross_validate_domains(model, frame, data.y, **rows(data, n_splits=2))
    texts = [str(one.message) for one in told if one.category is PreparationWarning]
    assert any("'code'" in text for text in texts)
    assert len(set(texts)) == len(texts)
    assert told[0].filename == __file__
