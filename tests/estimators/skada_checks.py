"""What skada does with our estimators, said as JSON on the last line: "ok", or the error, by name.

Run by test_skada.py in a process of its own: `import skada` turns scikit-learn's metadata routing
on for all of it.
"""

import json
import sys
import traceback
import warnings

import numpy as np
from skada import make_da_pipeline
from skada.metrics import (
    CircularValidation,
    DeepEmbeddedValidation,
    ImportanceWeightedScorer,
    MixValScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensity,
    SupervisedScorer,
)
from skada.model_selection import (
    DomainShuffleSplit,
    LeaveOneDomainOut,
    SourceTargetShuffleSplit,
    StratifiedDomainShuffleSplit,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

from domindex import CrossDomainClassifier, CrossDomainRegressor, MomentFlow, Training
from domindex.datasets import make_circle

HIDDEN = -1
"""skada's word for a class that is not known."""

family = make_circle(n_domains=5, n_sources=3, samples_per_domain=14, random_state=0)
X, labels = family.X, np.asarray(family.y)
names = sorted(set(family.sample_domain))
numbers = np.array([names.index(name) + 1 for name in family.sample_domain])
is_source = np.isin(family.sample_domain, family.source_domains)
domains = np.where(is_source, numbers, -numbers)
y = np.where(is_source, labels, HIDDEN)
SHORT = Training(steps=2, index_steps=2)


def classifier():
    ways = [("raw", "linear"), ("domain_centred", "linear")]
    return CrossDomainClassifier(candidates=ways, training=SHORT, random_state=0)


def pipeline():
    return make_da_pipeline(StandardScaler(), classifier())


def validated(splitter, scorer, rows=X, classes=y, sample_domain=domains, **more):
    params = {"sample_domain": sample_domain, **more}
    kept = {"cv": splitter, "scoring": scorer, "error_score": "raise"}
    scores = cross_validate(pipeline(), rows, classes, params=params, **kept)["test_score"]
    assert np.isfinite(scores).all(), scores


def fits_and_predicts(model, values):
    said = model.fit(X, values, sample_domain=domains).predict(X, sample_domain=domains)
    assert len(said) == len(X)


def every_domain_in_both_roles():
    """As skada's own packing for leaving one domain out has it."""
    twice = np.concatenate([X, X]), np.concatenate([labels, np.full(len(X), HIDDEN)])
    signs = np.concatenate([numbers, -numbers])
    splitter = LeaveOneDomainOut(max_n_splits=2, test_size=0.5, random_state=0)
    validated(splitter, PredictionEntropyScorer(), *twice, signs)


def searches_a_grid():
    search = GridSearchCV(
        pipeline(),
        {"crossdomainclassifier__index_dim": [1, 2]},
        cv=SourceTargetShuffleSplit(n_splits=1, random_state=0),
        scoring=PredictionEntropyScorer(),
        error_score="raise",
    )
    search.fit(X, y, sample_domain=domains)
    assert search.best_params_["crossdomainclassifier__index_dim"] in (1, 2)


halves = {"n_splits": 1, "test_size": 0.5, "random_state": 0}
split = SourceTargetShuffleSplit(**halves)
CHECKS = {
    "make_da_pipeline, CrossDomainClassifier": lambda: fits_and_predicts(pipeline(), y),
    "make_da_pipeline, CrossDomainRegressor": lambda: fits_and_predicts(
        make_da_pipeline(
            StandardScaler(),
            CrossDomainRegressor(candidates=[("raw", "linear")], training=SHORT, random_state=0),
        ),
        np.where(is_source, X.sum(axis=1), np.nan),
    ),
    "make_da_pipeline, MomentFlow": lambda: fits_and_predicts(
        make_da_pipeline(StandardScaler(), MomentFlow(LogisticRegression())), y
    ),
    "SourceTargetShuffleSplit": lambda: validated(split, PredictionEntropyScorer()),
    "DomainShuffleSplit": lambda: validated(
        DomainShuffleSplit(**halves), PredictionEntropyScorer()
    ),
    "StratifiedDomainShuffleSplit": lambda: validated(
        StratifiedDomainShuffleSplit(**halves), PredictionEntropyScorer()
    ),
    "LeaveOneDomainOut": every_domain_in_both_roles,
    "ImportanceWeightedScorer": lambda: validated(split, ImportanceWeightedScorer()),
    "SupervisedScorer": lambda: validated(split, SupervisedScorer(), target_labels=labels),
    "SoftNeighborhoodDensity": lambda: validated(split, SoftNeighborhoodDensity()),
    "DeepEmbeddedValidation": lambda: validated(split, DeepEmbeddedValidation()),
    "CircularValidation": lambda: validated(split, CircularValidation()),
    "MixValScorer": lambda: validated(split, MixValScorer()),
    "GridSearchCV": searches_a_grid,
}


def outcome(check):
    try:
        check()
    except Exception:
        return traceback.format_exc(limit=-3)
    return "ok"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({name: outcome(check) for name, check in CHECKS.items()}))
    sys.exit(0)
