"""The methods that can be asked for by name: each a value that knows how to build its estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import domindex
from domindex import baselines
from domindex.datasets import DomainDataset
from domindex.errors import InputError
from domindex.estimators import MomentFlow
from domindex.estimators.base import Names
from domindex.estimators.wrapping import WrappingEstimator
from domindex.inputs import DomainData
from domindex.inputs.domain_data import Task
from domindex.representations import RepresentedRows
from domindex_bench.published import PAPERS_METHODS

Group = Literal[
    "this library",
    "a departure",
    "a part alone",
    "given the truth",
    "the paper's baselines",
    "plain",
    "plain, after MomentFlow",
    "skada",
]
Builder = Callable[[DomainDataset, int], Any]
Objection = Callable[[DomainDataset], str]


def no_objection(dataset: DomainDataset) -> str:
    return ""


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Attributes
    ----------
    name, title, group : what it is asked for by, what tables call it, and where they put it
    build : the unfitted estimator for a dataset and a seed
    seeded : whether the seed matters; a method without chance runs once
    objection : why it cannot run on a dataset, empty where it can
    published_as : whose figures of the paper stand beside it, where the paper printed some
    variant : whether it varies a simpler method, so that short tables may leave it out
    package : what it needs that is no dependency; a run that did
        not ask for the method by name goes on without it where that is missing
    """

    name: str
    title: str
    group: Group
    build: Builder
    seeded: bool = True
    objection: Objection = no_objection
    published_as: str | None = None
    variant: bool = False
    package: str | None = None


def with_backbone(method: Method, backbone: str, needs: Objection) -> Method:
    """The same method of networks, which read what it `needs` through a backbone by name."""
    return replace(
        method,
        name=f"{method.name}-{backbone}",
        title=f"{method.title}, convolutional",
        build=lambda dataset, seed: method.build(dataset, seed).set_params(backbone=backbone),
        objection=lambda dataset: needs(dataset) or method.objection(dataset),
    )


def list_methods() -> list[str]:
    """The names that the benchmark knows."""
    return list(METHODS)


def some_methods(*names: str) -> dict[str, Method]:
    """Those of the benchmark's methods, by name, for a suite that needs no more."""
    return {name: METHODS[name] for name in names}


def cross_domain(dataset: DomainDataset, seed: int, **settings: Any) -> Any:
    """The model of this library for the dataset's task."""
    kind = "CrossDomainClassifier" if dataset.task == "classification" else "CrossDomainRegressor"
    return getattr(domindex, kind)(random_state=seed, **settings)


OPTIONS = {
    "aggregation": "sliced",
    "local_dim": 4,
    "geodesics": True,
    "smoothness_weight": 1.0,
}
"""Transport and the authors' local dimensions, and two options that the paper does not have."""


def vdi(dataset: DomainDataset, seed: int, **settings: Any) -> Any:
    """The paper's model for the dataset's task."""
    kind = "VDIClassifier" if dataset.task == "classification" else "VDIRegressor"
    return getattr(domindex, kind)(random_state=seed, **settings)


def _moment_flow(dataset: DomainDataset, seed: int) -> Any:
    """The closed form, and a quadratic model on what it aligns."""
    is_class = dataset.task == "classification"
    last = LogisticRegression(C=100.0, max_iter=5000) if is_class else Ridge(alpha=1e-3)
    return MomentFlow(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), last)
    )


def _deep(kind: str, dataset: DomainDataset, seed: int, **given: Any) -> Any:
    return getattr(baselines, kind)(random_state=seed, **given)


def _told_index(kind: str, dataset: DomainDataset, seed: int) -> Any:
    return _deep(kind, dataset, seed, domain_index=true_index(dataset))


def true_index(dataset: DomainDataset) -> dict[Any, np.ndarray]:
    """Where each domain truly lies, by name."""
    assert dataset.true_index is not None
    return dict(zip(dataset.domains, dataset.true_index))


def true_graph(dataset: DomainDataset) -> nx.Graph:
    """The true neighbourhood; where only a single true number is known, a chain in its order."""
    if dataset.graph is not None:
        return dataset.graph
    assert dataset.true_index is not None
    order = np.argsort(dataset.true_index[:, 0], kind="stable")
    chain = nx.Graph()
    chain.add_nodes_from(dataset.domains)
    nx.add_path(chain, [dataset.domains[number] for number in order])
    return chain


def _needs_index(dataset: DomainDataset) -> str:
    return "" if dataset.true_index is not None else "the true index of the domains is not known"


def _needs_graph(dataset: DomainDataset) -> str:
    one_number = dataset.true_index is not None and dataset.true_index.shape[1] == 1
    if dataset.graph is not None or one_number:
        return ""
    return "neither a true graph nor a true order of the domains is known"


def needs_task(task: Task, why: str, dataset: DomainDataset) -> str:
    return "" if dataset.task == task else f"{why}, and this is {dataset.task}"


classes_only = partial(needs_task, "classification", "it predicts classes")
_VALUES_ONLY = partial(needs_task, "regression", "it predicts values")
_RESTORABLE_ONLY = partial(
    needs_task, "regression", "normalised rows restore outputs in the units of the inputs"
)


def _logistic(task: Task, seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))


def _ridge(task: Task, seed: int) -> Any:
    return Ridge(alpha=1e-3)


def _svm(task: Task, seed: int) -> Any:
    return make_pipeline(StandardScaler(), SVC())


def _forest(task: Task, seed: int) -> Any:
    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return kind(random_state=seed)


def _neighbors(task: Task, seed: int) -> Any:
    return KNeighborsClassifier() if task == "classification" else KNeighborsRegressor()


def _boosting(task: Task, seed: int) -> Any:
    if task == "classification":
        return HistGradientBoostingClassifier(random_state=seed)
    return MultiOutputRegressor(HistGradientBoostingRegressor(random_state=seed))


def _catboost(task: Task, seed: int) -> Any:
    module = _booster_module("catboost")

    class Classifier(module.CatBoostClassifier):
        """Of more than two classes CatBoost predicts a column."""

        def predict(self, rows: Any, **how: Any) -> Any:
            return super().predict(rows, **how).ravel()

    kind = Classifier if task == "classification" else module.CatBoostRegressor
    model = kind(random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1)
    return model if task == "classification" else MultiOutputRegressor(model)


def _lightgbm(task: Task, seed: int) -> Any:
    module = _booster_module("lightgbm")
    kind = module.LGBMClassifier if task == "classification" else module.LGBMRegressor
    model = kind(random_state=seed, verbose=-1, n_jobs=1)
    return model if task == "classification" else MultiOutputRegressor(model)


def _booster_module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"This part of the benchmark needs {name}, which is not installed. Install it with: "
            "pip install 'domindex[boosting]'"
        ) from None


@dataclass(frozen=True)
class PlainModel:
    """A model of scikit-learn, and what it becomes with each aid."""

    name: str
    title: str
    make: Callable[[Task, int], Any]
    seeded: bool = False
    objection: Objection = no_objection
    package: str | None = None

    def bare(self, dataset: DomainDataset, seed: int, **aids: Any) -> Any:
        return baselines.PlainBaseline(self.make(dataset.task, seed), **aids)

    def aligned(self, dataset: DomainDataset, seed: int) -> Any:
        return MomentFlow(self.make(dataset.task, seed))

    def on_standardised_domains(self) -> Method:
        """Every domain's features centred and scaled by themselves."""
        build = partial(self.bare, representation="domain_standardised")
        return Method(
            f"{self.name}-ds",
            f"{self.title}, domains standardised",
            "plain",
            build=build,
            seeded=self.seeded,
            objection=self.objection,
            variant=True,
        )

    def methods(self) -> Iterator[Method]:
        """The model as it is, and with each aid."""
        plain = partial(
            Method,
            group="plain",
            seeded=self.seeded,
            objection=self.objection,
            package=self.package,
        )
        varied = partial(plain, variant=True)
        means = partial(self.bare, with_domain_means=True)
        rows = partial(self.bare, representation="row_standardised")
        yield plain(self.name, self.title, build=self.bare)
        yield varied(f"{self.name}-means", f"{self.title}, with domain means", build=means)
        aligned = partial(varied, group="plain, after MomentFlow")
        yield aligned(f"{self.name}-flow", f"{self.title}, after MomentFlow", build=self.aligned)
        if self.objection is not classes_only:
            title = f"{self.title}, on normalised rows"
            yield varied(f"{self.name}-rows", title, build=rows, objection=_RESTORABLE_ONLY)


PLAIN = (
    PlainModel("ridge", "Ridge regression", _ridge, objection=_VALUES_ONLY),
    PlainModel("logistic", "Logistic regression", _logistic, objection=classes_only),
    PlainModel("svm", "RBF SVM", _svm, objection=classes_only),
    PlainModel("forest", "Random forest", _forest, seeded=True),
    PlainModel("knn", "5 nearest neighbours", _neighbors),
    PlainModel("boosting", "Gradient boosting", _boosting),
)

EXTRA_PLAIN = (
    PlainModel("catboost", "CatBoost", _catboost, seeded=True, package="catboost"),
    PlainModel("lightgbm", "LightGBM", _lightgbm, seeded=True, package="lightgbm"),
)
BOOSTERS = tuple(model.name for model in EXTRA_PLAIN)


def _all_methods() -> Iterator[Method]:
    own = partial(Method, group="this library")
    yield own("cross-domain", "CrossDomain", build=cross_domain, published_as="vdi")
    yield own("vdi", "VDI, the paper's model", build=vdi, published_as="vdi")
    yield own(
        "vdi-options",
        "VDI, with transport, geodesics and smoothness",
        build=partial(vdi, **OPTIONS),
    )
    yield own("moment-flow", "MomentFlow", build=_moment_flow, seeded=False)

    for name in ("cida", "pcida"):
        yield Method(
            name,
            f"{name.upper()}, told the true index",
            "given the truth",
            build=partial(_told_index, name.upper()),
            objection=_needs_index,
        )
    yield Method(
        "grda",
        "GRDA, told the true graph",
        "given the truth",
        build=lambda data, seed: _deep("GRDA", data, seed, domain_graph=true_graph(data)),
        objection=_needs_graph,
    )
    for name, title, kind in (
        ("source-only", "Source-Only", "SourceOnly"),
        ("dann", "DANN", "DANN"),
        ("adda", "ADDA", "ADDA"),
        ("cdann", "CDANN", "CDANN"),
        ("mdd", "MDD", "MDD"),
        ("sentry", "SENTRY", "SENTRY"),
        ("domain2vec", "D2V", "D2V"),
    ):
        yield Method(
            name,
            title,
            "the paper's baselines",
            build=partial(_deep, kind),
            objection=classes_only if kind == "D2V" else no_objection,
            published_as=name,
        )
    for model in PLAIN:
        yield from model.methods()
    for model in EXTRA_PLAIN:
        yield next(model.methods())


METHODS = {method.name: method for method in _all_methods()}
PAPERS_COLUMNS = sorted(
    (name for name, method in METHODS.items() if method.published_as),
    key=lambda name: PAPERS_METHODS.index(METHODS[name].published_as or ""),
)
"""Methods with a column in the paper's tables, in its order."""


def import_skada(module: str = "skada") -> Any:
    """skada, or a module of it, with the settings of scikit-learn as they were before.

    Its import turns metadata routing on for everything in the process.
    """
    try:
        with config_context():
            return import_module(module)
    except ImportError:
        raise InputError(
            "This part of the benchmark needs skada, which is not installed. "
            "Install it with: pip install 'domindex[skada]'"
        ) from None


class SkadaAdapted(WrappingEstimator):
    """A scikit-learn model on source rows that an adapter of skada moved to the targets.

    All sources together are one side and all targets together the other. Inputs are standardised
    over all rows first.

    Parameters
    ----------
    estimator : any scikit-learn classifier
    adapter : name of the class in skada
    reg : its regularisation, in its own terms: CORAL shrinks covariances by that share, linear
        optimal transport adds it to their diagonals. Not skada's default: docs/figures.md says why

    Attributes
    ----------
    estimator_ : the fitted estimator
    adapter_ : the fitted adapter
    """

    def __init__(self, estimator: Any, *, adapter: str = "CORALAdapter", reg: float = 1e-3) -> None:
        self.estimator = estimator
        self.adapter = adapter
        self.reg = reg

    def _fit_representation(self, data: DomainData) -> None:
        self._sources = frozenset(data.source_domains)
        adapter = getattr(import_skada(), self.adapter)(reg=self.reg)
        flat = _flat(data.inputs)
        self._scaler = StandardScaler().fit(flat)
        sides = self._sides(data.row_names, len(flat))
        self.adapter_ = adapter.fit(self._scaler.transform(flat), sample_domain=sides)

    def _represent(self, inputs: NDArray, names: Names) -> RepresentedRows:
        """Source rows are moved; those of other domains, never seen ones included, are targets."""
        moved = self.adapter_.transform(
            self._scaler.transform(_flat(inputs)),
            sample_domain=self._sides(names, len(inputs)),
            allow_source=True,
        )
        return RepresentedRows.plain(moved)

    def _sides(self, names: Names, n_rows: int) -> NDArray[np.int64]:
        """(rows,) which side each row is on; skada has sources above 0 and targets below."""
        if names is None:
            return np.full(n_rows, -2)
        return np.array([1 if name in self._sources else -2 for name in names])


def _flat(inputs: NDArray) -> NDArray:
    return inputs.reshape(len(inputs), -1).astype(np.float64)


def _logistic_after(adapter: str, dataset: DomainDataset, seed: int) -> Any:
    return SkadaAdapted(LogisticRegression(max_iter=5000), adapter=adapter)


def skada_methods() -> dict[str, Method]:
    """Logistic regression after each of skada's two linear adapters, by name."""
    after = {
        "coral": ("Logistic regression, after skada's CORAL", "CORALAdapter"),
        "linear-ot": ("Logistic regression, after skada's linear OT", "LinearOTMappingAdapter"),
    }
    return {
        name: Method(
            name,
            title,
            "skada",
            build=partial(_logistic_after, adapter),
            seeded=False,
            objection=classes_only,
            package="skada",
        )
        for name, (title, adapter) in after.items()
    }
