"""The methods that can be asked for by name: each a value that knows how to build its estimator.

Estimators are imported when one is built, so that listing the methods costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from domindex.datasets import DomainDataset
from domindex.inputs.domain_data import Task

if TYPE_CHECKING:
    import networkx as nx
    import numpy as np

Group = Literal[
    "this library",
    "a part taken out",
    "a part alone",
    "given the truth",
    "the paper's baselines",
    "plain",
    "plain, after MomentFlow",
    "skada",
]
Builder = Callable[[DomainDataset, int], Any]
Objection = Callable[[DomainDataset], str]

QUADRATIC_PENALTY = 100.0
SMALL_PENALTY = 1e-3


def no_objection(dataset: DomainDataset) -> str:
    return ""


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Attributes
    ----------
    name : what it is asked for by
    title : what tables call it
    group : where tables put it
    build : the unfitted estimator for a dataset and a seed
    seeded : whether the seed matters; a method without chance runs once
    objection : why it cannot run on a dataset, empty where it can
    published_as : the paper's name for it, where the paper printed figures
    told : parameters of the estimator that the dataset gives, so that they are no settings
    variant : whether it varies a simpler method, so that short tables may leave it out
    package : what it needs that is no dependency, and the extra that installs it; a run that did
        not ask for the method by name goes on without it where that is missing
    """

    name: str
    title: str
    group: Group
    build: Builder
    seeded: bool = True
    objection: Objection = no_objection
    published_as: str | None = None
    told: tuple[str, ...] = ()
    variant: bool = False
    package: str | None = None


def with_backbone(method: Method, backbone: str, needs: Objection) -> Method:
    """The same method of networks, which read what it `needs` through a backbone by name."""
    return replace(
        method,
        name=f"{method.name}-{backbone}",
        title=f"{method.title}, convolutional",
        build=partial(_build_with_backbone, method.build, backbone),
        objection=partial(_first_objection, needs, method.objection),
    )


def _first_objection(first: Objection, second: Objection, dataset: DomainDataset) -> str:
    return first(dataset) or second(dataset)


def _build_with_backbone(build: Builder, backbone: str, dataset: DomainDataset, seed: int) -> Any:
    return build(dataset, seed).set_params(backbone=backbone)


def list_methods() -> list[str]:
    """The names that the benchmark knows."""
    return list(METHODS)


def some_methods(*names: str) -> dict[str, Method]:
    """Those of the benchmark's methods, by name, for a suite that needs no more."""
    return {name: METHODS[name] for name in names}


def vdi(dataset: DomainDataset, seed: int, **settings: Any) -> Any:
    """The model of this library for the dataset's task."""
    kind = "VDIClassifier" if dataset.task == "classification" else "VDIRegressor"
    return getattr(import_module("domindex"), kind)(random_state=seed, **settings)


def _moment_flow(dataset: DomainDataset, seed: int) -> Any:
    """The closed form, and a quadratic model on what it aligns."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    from domindex.estimators import MomentFlow

    last = (
        LogisticRegression(C=QUADRATIC_PENALTY, max_iter=5000)
        if dataset.task == "classification"
        else Ridge(alpha=SMALL_PENALTY)
    )
    return MomentFlow(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler(), last)
    )


def _deep(kind: str, dataset: DomainDataset, seed: int, **given: Any) -> Any:
    return getattr(import_module("domindex.baselines"), kind)(random_state=seed, **given)


def _cida(dataset: DomainDataset, seed: int) -> Any:
    return _deep("CIDA", dataset, seed, domain_index=true_index(dataset))


def _grda(dataset: DomainDataset, seed: int) -> Any:
    return _deep("GRDA", dataset, seed, domain_graph=true_graph(dataset))


def true_index(dataset: DomainDataset) -> dict[Any, np.ndarray]:
    """Where each domain truly lies, by name."""
    assert dataset.true_index is not None
    return dict(zip(dataset.domains, dataset.true_index))


def true_graph(dataset: DomainDataset) -> nx.Graph:
    """The true neighbourhood; where only a single true number is known, a chain in its order."""
    import networkx as nx
    import numpy as np

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


def _needs_task(task: Task, why: str, dataset: DomainDataset) -> str:
    return "" if dataset.task == task else f"{why}, and this is {dataset.task}"


classes_only = partial(_needs_task, "classification", "it predicts classes")
_VALUES_ONLY = partial(_needs_task, "regression", "it predicts values")
_RESTORABLE_ONLY = partial(
    _needs_task, "regression", "normalised rows restore outputs in the units of the inputs"
)


def _logistic(task: Task, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))


def _ridge(task: Task, seed: int) -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=SMALL_PENALTY)


def _forest(task: Task, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return kind(random_state=seed)


def _neighbors(task: Task, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier() if task == "classification" else KNeighborsRegressor()


def _svm(task: Task, seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return make_pipeline(StandardScaler(), SVC())


def _boosting(task: Task, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    if task == "classification":
        return HistGradientBoostingClassifier(random_state=seed)
    return MultiOutputRegressor(HistGradientBoostingRegressor(random_state=seed))


@dataclass(frozen=True)
class PlainModel:
    """A model of scikit-learn, and what it becomes with each aid."""

    name: str
    title: str
    make: Callable[[Task, int], Any]
    seeded: bool = False
    objection: Objection = no_objection

    def bare(self, dataset: DomainDataset, seed: int, **aids: Any) -> Any:
        from domindex.baselines import PlainBaseline

        return PlainBaseline(self.make(dataset.task, seed), **aids)

    def aligned(self, dataset: DomainDataset, seed: int) -> Any:
        from domindex.estimators import MomentFlow

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
        plain = partial(Method, group="plain", seeded=self.seeded, objection=self.objection)
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


def _all_methods() -> Iterator[Method]:
    own = partial(Method, group="this library")
    yield own("vdi", "VDI", build=vdi, published_as="vdi")
    paper_model = partial(vdi, flow=None)
    yield own("vdi-no-flow", "VDI without a flow", build=paper_model, published_as="vdi")
    yield own("moment-flow", "MomentFlow", build=_moment_flow, seeded=False)

    oracle = partial(Method, group="given the truth")
    yield oracle(
        "cida",
        "CIDA, told the true index",
        build=_cida,
        objection=_needs_index,
        told=("domain_index",),
    )
    yield oracle(
        "grda",
        "GRDA, told the true graph",
        build=_grda,
        objection=_needs_graph,
        told=("domain_graph",),
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


METHODS = {method.name: method for method in _all_methods()}
