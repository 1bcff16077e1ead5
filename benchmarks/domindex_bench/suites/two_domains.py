"""One source and one target: the least that a map of domains can be drawn of."""

from __future__ import annotations

from functools import partial

import numpy as np

from domindex.datasets import DomainDataset
from domindex.datasets.files import DataHome
from domindex.errors import DatasetError, InputError
from domindex_bench.figures import prediction_figures
from domindex_bench.methods import import_skada, some_methods
from domindex_bench.suite import Suite, SuiteDataset, slug
from domindex_bench.tables import by_method

SHIFTS = {
    "covariate shift": "covariate_shift",
    "target shift": "target_shift",
    "conditional shift": "conditional_shift",
    "subspace": "subspace",
}
"""What changes from source to target, and skada's name for it."""

SIZE = 20
"""Of one cluster. A domain has eight of these, four in `subspace`."""

NOISE = 0.3


def shifted(title: str, data_home: DataHome, seed: int) -> DomainDataset:
    """Two domains of skada's `make_shifted_datasets`, two classes, drawn anew with every seed."""
    try:
        skada = import_skada("skada.datasets")
    except InputError as error:
        raise DatasetError(str(error)) from None
    drawn = skada.make_shifted_datasets(
        n_samples_source=SIZE,
        n_samples_target=SIZE,
        shift=SHIFTS[title],
        noise=NOISE,
        label="binary",
        random_state=seed,
        return_dataset=True,
    )
    (source, source_classes), (target, target_classes) = map(drawn.get_domain, ("s", "t"))
    return DomainDataset(
        name=slug(title),
        X=np.concatenate([source, target]),
        y=np.concatenate([source_classes, target_classes]),
        sample_domain=np.repeat(["source", "target"], [len(source), len(target)]),
        source_domains=["source"],
        domains=["source", "target"],
        task="classification",
        true_index=None,
        index_names=(),
        graph=None,
        description=f"Two classes in a source and a target, from skada: {title}.",
    )


SUITE = Suite(
    name="two-domains",
    title="One source and one target",
    about=(
        "Target accuracy, %. Two classes in the plane, from skada's `make_shifted_datasets`; every "
        f"seed draws both domains anew, {8 * SIZE} rows each, {4 * SIZE} in the subspace, with "
        f"noise of {NOISE}. The data need `domindex[skada]`."
    ),
    datasets={
        slug(title): SuiteDataset(
            title.capitalize(),
            "classification",
            partial(shifted, title),
            redraws=True,
            optional=True,
        )
        for title in SHIFTS
    },
    methods=some_methods("cross-domain", "logistic", "svm", "boosting"),
    seeds=5,
    figures=(prediction_figures,),
    headline={"classification": "accuracy"},
    render=partial(by_method, figure="accuracy"),
)
