"""Small fits that the tests of reports share."""

import pytest

from domindex import CrossDomainClassifier, CrossDomainRegressor, Training
from domindex.datasets import make_domain_graph
from domindex.reporting import ReportData, report_data

QUICK = {"training": Training(index_steps=5, steps=10), "random_state": 0}
FEW = [("raw", "linear"), ("flow", "linear")]
ATTACK = "<script>alert(1)</script>"
MARKUP = "<b>bold</b> &amp; %{x}"


@pytest.fixture(scope="session")
def family():
    return make_domain_graph(n_domains=8, n_sources=4, samples_per_domain=30, random_state=0)


@pytest.fixture(scope="session")
def names(family):
    """The domain of every row by name; two have names that a page must not believe."""
    spelled = [ATTACK, *(f"domain {number}" for number in range(1, 7)), MARKUP]
    return [spelled[number] for number in family.sample_domain]


@pytest.fixture(scope="session")
def sources(family, names):
    chosen = set(family.source_domains)
    return sorted({n for n, k in zip(names, family.sample_domain) if k in chosen})


@pytest.fixture(scope="session")
def classifier(family, names, sources):
    model = CrossDomainClassifier(**QUICK, candidates=FEW)
    return model.fit(family.X, family.y, sample_domain=names, source_domains=sources)


@pytest.fixture(scope="session")
def regressor(family, names, sources):
    model = CrossDomainRegressor(**QUICK, representation="raw", predictor="linear")
    return model.fit(family.X, family.X[:, 0] * 2.0, sample_domain=names, source_domains=sources)


@pytest.fixture(scope="session")
def data(classifier, family, names) -> ReportData:
    columns = {
        "angle": family.true_index[family.sample_domain, 0],
        "rows": family.X[:, 0],
        "region": ["north" if number < 4 else f"{ATTACK}south" for number in family.sample_domain],
    }
    return report_data(
        classifier, family.X, family.y, names, columns=columns, budget=60, title=f"Fit {ATTACK}"
    )
