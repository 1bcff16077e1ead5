"""Classification in domains without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from domindex.estimators.vdi import BaseVDI
from domindex.inputs.domain_data import Task
from domindex.inputs.labels import class_array
from domindex.vdi.settings import Network, Training


class VDIClassifier(BaseVDI):
    """Infer where each domain lies, and classify in the domains without labels.

    A committee predicts: candidates, pairs of a representation and a predictor, are validated on
    source domains held out along the map, and weighed by what they were worth there.

    Parameters
    ----------
    inputs : what rows are: "table", "pictures" (rows, height, width), with channels before or
        after, or "signals" (rows, time, channels); "auto" guesses by their shape
    index_dim : components of the global index β
    local_dim : components of the local index u, at most as many as features; None takes as many
        as the domains differ along (4 for the paper's model)
    flow : "auto" solves an affine flow along the map in closed form, which candidates may follow;
        None is the paper's model as written, without candidates unless `predictor` or `candidates`
        asks for some
    representation : "auto" tries every representation that serves the data; a name of
        `list_representations`, or "encoded", prescribes one for all members
    predictor : "auto" tries linear rules, a kernel, trees, boosting and, where the flow counts, the
        variational network; a name of `list_predictors`, "network", or an estimator like those of
        scikit-learn, which stays as it is, prescribes one
    candidates : pairs (representation, predictor) to choose from, in place of the two above; each
        predictor by name or as an estimator
    effort : "full", or "quick" for linear rules and trees only
    class_weight : "balanced" lets every class count alike, a mapping from class to weight lets
        each count as it says; None counts rows
    backbone : a network that maps inputs to features: "conv" (pictures), "temporal" (signals),
        "resnet18", a `torch.nn.Module`, a callable that returns one, or a `Backbone` with more
        settings; None takes inputs as they are
    network : sizes of the networks and weights of their objective, a `Network`
    training : how long and where they are trained, a `Training`
    n_jobs : processes that validate candidates and measure transport distances, as in joblib. None
        is one process, in which trees and boosting share the cores in threads (as many as
        OMP_NUM_THREADS allows); with 1 they do not. The result is the same with any
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
    domain_distances_ : (domains, domains), the transport distances behind it; to landmarks only
        where there are more than 500 domains
    landmark_domains_ : names of the domains that a map of so many was drawn from; None elsewhere
    landmark_error_ : how well that map follows exact distances on random pairs; None elsewhere
    added_domains_ : names of those that `add_domains` added
    off_map_domains_ : names of those among them that lie off the map
    representation_ : the representation that the heaviest member predicts from
    candidates_ : DataFrame, a row a candidate, the heaviest first. Columns: candidate (its name),
        representation, predictor, near_loss and far_loss (on held-out sources, lower is better; NaN
        where there are no far folds), loss (of both), penalty (for risk), target_auc and
        held_out_auc (how separable targets, and held-out sources, are from the sources), weight (in
        the committee), left_out (why it was not in the race; empty where it was)
    forecast_ : DataFrame, a row a target domain. Columns: domain, rows, nearest (source on the
        map), distance (to it), expected_accuracy with low
        and high (80 %), and for comparison held_out_mean and thresholded_confidence
    history_ : DataFrame, a row per epoch and a column per term of the objective
    timings_ : DataFrame, seconds by stage of the fit
    flow_ : which flow was found, and how well it fits; None where no member follows it
    grid_flow_ : which motion of pictures or signals was found; None where no member follows it

    `forecast(X, sample_domain=)` gives the same for any rows, and `summary()` says in words who
    predicts, why others do not, and what to expect.

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear"), ("flow", "linear")],
    ...     training=Training(steps=5, index_steps=5),
    ...     random_state=0,
    ... )
    >>> model = model.fit(
    ...     data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    ... )
    >>> model.domain_indices_.shape
    (6, 2)
    >>> model.predict_proba(data.X[:5], sample_domain=data.sample_domain[:5]).shape
    (5, 2)
    >>> bool(abs(model.candidates_["weight"].sum() - 1) < 1e-9)
    True
    >>> len(model.forecast_), "expected_accuracy" in model.forecast_
    (3, True)
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        inputs: str = "auto",
        index_dim: int = 2,
        local_dim: int | None = None,
        flow: str | None = "auto",
        representation: str = "auto",
        predictor: Any = "auto",
        candidates: Sequence[tuple[str, Any]] | None = None,
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

    def state(self) -> dict[str, Any]:
        kind = self.classes_.dtype.str.lstrip("<>=|")
        return {**super().state(), "classes": self.classes_.tolist(), "class_type": kind}

    def _restore(self, state: dict[str, Any]) -> None:
        self.classes_ = class_array(state["classes"], state["class_type"])
        super()._restore(state)
