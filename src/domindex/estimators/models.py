"""The classifier and the regressor, and `load`, which opens them again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from domindex.errors import InputError
from domindex.estimators.cross_domain import CrossDomainModel
from domindex.estimators.fitted import MappedEstimator, MappedRegressor
from domindex.estimators.indexer import DomainIndexer
from domindex.estimators.vdi import VDIClassifier, VDIRegressor
from domindex.inputs.domain_data import Task
from domindex.neural.backbones import Backbone, give_template
from domindex.neural.settings import Training
from domindex.persistence.model_folder import load_model
from domindex.vdi.settings import Network


class CrossDomainClassifier(CrossDomainModel):
    """Infer where each domain lies, and classify in the domains without labels.

    A committee predicts: candidates, pairs of a representation and a predictor, are validated on
    source domains held out along the map, and weighed by what they were worth there.

    Parameters
    ----------
    inputs : "table", "pictures" (rows, height, width), with channels before or after, or "signals"
        (rows, time, channels); "auto" guesses by their shape
    index_dim : components of the global index β
    local_dim : components of the local index u, at most as many as features; None takes as many
        as the domains differ along
    flow : "auto", the only choice, solves an affine flow along the map, which candidates may follow
    representation : "auto" tries every representation that serves the data; a name of
        `list_representations`, or "encoded", prescribes one for all members
    predictor : "auto" tries linear rules, a kernel, trees, boosting and, where the flow counts, the
        variational network; a name of `list_predictors`, "network", or an estimator like those of
        scikit-learn prescribes one
    candidates : pairs (representation, predictor) to choose from, in place of the two above, or
        "boosters" for the default's and, where they are installed, CatBoost and LightGBM
    effort : "full", or "quick" for linear rules and trees only
    class_weight : "balanced" lets every class count alike, or a mapping from class to weight
    backbone : a network from inputs to features: "conv" (pictures), "temporal" (signals),
        "resnet18", a `torch.nn.Module`, a callable that returns one, or a `Backbone`
    network : sizes of the networks and weights of their objective, a `Network`
    training : how long and where they are trained, a `Training`
    n_jobs : processes that validate candidates and measure distances, as in joblib, with the same
        result. None is one, in which trees and boosting share the cores in threads
    verbose : 1 shows progress bars
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_ : domain names
    source_domains_ : names of those with labels
    domain_indices_ : (domains, index_dim), the map
    domain_angles_ : (domains,) in (−π, π], around the ring where the map closes; None elsewhere
    domain_index_std_ : (domains, index_dim), its uncertainty
    domain_index_ : the map as a `DomainIndex`
    landmark_domains_ : those that a map of more than 500 domains was drawn from; None elsewhere
    added_domains_ : names of those that `add_domains` added
    off_map_domains_ : names of those among them that lie off the map
    representation_ : that of the heaviest member
    candidates_ : DataFrame, a row a candidate, the heaviest first. Columns: candidate (its name),
        representation, predictor, near_loss and far_loss (on held-out sources, lower is better; NaN
        where there are no far folds), loss (of both), penalty (for risk), target_auc and
        held_out_auc (how separable targets, and held-out sources, are from the sources), weight (in
        the committee), left_out (why it was not in the race; empty where it was)
    forecast_ : DataFrame, a row a target domain. Columns: domain, rows, nearest (source on the
        map), distance (to it, in median spacings of the map), expected_accuracy with low and high
        (80 %), for comparison held_out_mean and thresholded_confidence, support (share of rows
        inside the range of the sources' rows), beyond_experience and reason (where the interval is
        at least that wide)
    discovered_domains_ : DataFrame, a row a window of a fit with `order`: domain, first, last, and
        whether something jumps where it begins
    boundaries_ : the values of `order` with which windows after the first begin
    row_index_ : (rows, index_dim), the index of every row of such a fit: smooth where drift is
    history_ : DataFrame, a row per epoch and a column per term of the objective
    timings_ : DataFrame, seconds by stage of the fit
    flow_ : which flow was found, and how well it fits; None where no member follows it
    grid_flow_ : which motion of pictures or signals was found; None where no member follows it

    Examples
    --------
    >>> model = CrossDomainClassifier(**few, random_state=0)
    >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
    >>> model.domain_indices_.shape, model.predict_proba(data.X, **rows).shape
    ((5, 2), (100, 2))
    """

    _task: ClassVar[Task] = "classification"
    _forecast_column = "expected_accuracy"

    def __init__(
        self,
        *,
        inputs: str = "auto",
        index_dim: int = 2,
        local_dim: int | None = None,
        flow: str = "auto",
        representation: str = "auto",
        predictor: Any = "auto",
        candidates: Sequence[tuple[str, Any]] | str | None = None,
        effort: str = "full",
        class_weight: str | Mapping[Any, float] | None = None,
        backbone: Any = None,
        network: Network | None = None,
        training: Training | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            inputs=inputs,
            index_dim=index_dim,
            local_dim=local_dim,
            flow=flow,
            representation=representation,
            predictor=predictor,
            candidates=candidates,
            effort=effort,
            backbone=backbone,
            network=network,
            training=training,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight


class CrossDomainRegressor(CrossDomainModel, MappedRegressor):
    """Infer where each domain lies, and predict values in the domains without labels.

    As `CrossDomainClassifier`, for any number of outputs, in the units of `y`.

    Parameters
    ----------
    inputs, index_dim, local_dim, flow, representation : as of `CrossDomainClassifier`
    predictor : "auto" also tries boosting on top of a linear rule; else as of
        `CrossDomainClassifier`
    candidates, effort, backbone, network, training, n_jobs, verbose : as of `CrossDomainClassifier`
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    forecast_ : DataFrame, a row a target domain. Columns: domain, rows, nearest (source on the
        map), distance (to it), expected_error (root mean squared; in units of y for one output, of
        the outputs' spread for several) with low and high (80 %), and for comparison held_out_mean

    All others are as of `CrossDomainClassifier`, but for `classes_`.

    Examples
    --------
    >>> model = CrossDomainRegressor(**few, random_state=0)
    >>> model = model.fit(data.X, data.X[:, 0], **rows, source_domains=[0, 1, 2])
    >>> model.forecast_[["domain", "expected_error"]].shape
    (2, 2)
    """

    _task: ClassVar[Task] = "regression"
    _forecast_column = "expected_error"


METHODS: dict[str, tuple[type[MappedEstimator], type[MappedEstimator]]] = {
    "cross-domain": (CrossDomainClassifier, CrossDomainRegressor),
    "vdi": (VDIClassifier, VDIRegressor),
    "map": (DomainIndexer, DomainIndexer),
}
"""What the command line calls them: for classes, and for values. All can be saved."""
MAP = "map"
"""The method that needs no labels and predicts nothing."""


def find_method(method: str, task: Task) -> type[Any]:
    """The estimator of a method by its name; InputError where there is none."""
    if method not in METHODS:
        raise InputError(f"method is {method!r}. Choose one of {', '.join(METHODS)}.")
    return METHODS[method][task == "regression"]


def load(path: str | os.PathLike[str], *, backbone: Any = None) -> Any:
    """The estimator that was saved at `path`: of `CrossDomainClassifier`, `CrossDomainRegressor`,
    `VDIClassifier`, `VDIRegressor` and `DomainIndexer` the one that it was.

    It predicts bit for bit what the saved one did. Opening a folder from a stranger runs no code.
    A representation or predictor of your own must be registered first. A backbone of your own is
    given again as `backbone`, the module or the callable that makes it; its weights are saved.

    Examples
    --------
    >>> import domindex
    >>> model.save("model")
    >>> domindex.load("model").domains_
    [0, 1, 2, 3, 4]
    """
    kinds = dict.fromkeys(kind for pair in METHODS.values() for kind in pair)
    return load_model(path, {kind.__name__: partial(_revived, kind, backbone) for kind in kinds})


def _revived(kind: type[MappedEstimator], backbone: Any, state: dict[str, Any]) -> MappedEstimator:
    """From its state, in which a backbone of the user's is missing."""
    try:
        needed = give_template(state, backbone)
        model = kind.from_state(state)
    except ValueError as error:
        if backbone is None or isinstance(error, InputError):
            raise
        raise InputError(
            f"The backbone that was given is not the one that the model was saved with ({error}). "
            "Give the module, or the callable, that it was fitted with."
        ) from error
    if needed:
        given = backbone.module if isinstance(backbone, Backbone) else backbone
        kept = model.backbone
        model.backbone = Backbone(given, frozen=kept.frozen, rate=kept.rate, weights=kept.weights)
    elif backbone is not None:
        raise InputError(
            "backbone was given, but the model was saved without one of your own. Leave it out."
        )
    return model
