"""The default model on the paper's data, one seed: the benchmark has the rest."""

import numpy as np
import pytest

from domindex import VDIClassifier
from domindex.datasets import load_dataset
from domindex.evaluation import graph_auc, index_correlation


@pytest.mark.parametrize(("name", "floor"), [("dg-15", 0.99), ("circle", 0.96)])
def test_the_default_model_beats_the_paper(paper_data, name, floor):
    data = load_dataset(name, paper_data)
    model = VDIClassifier(random_state=0).fit(
        data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    )
    target = ~data.is_source
    predicted = model.predict(data.X[target], sample_domain=data.sample_domain[target])
    assert np.mean(predicted == data.y[target]) >= floor
    if data.graph is not None:
        assert graph_auc(model.domain_index_, data.graph) >= 0.90
    else:
        assert index_correlation(model.domain_indices_, data.true_index) >= 0.995
