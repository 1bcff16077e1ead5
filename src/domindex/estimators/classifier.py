"""Classification in domains without labels."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from domindex.data import DomainData
from domindex.data.domain_data import Task
from domindex.data.labels import class_array
from domindex.estimators.base import BaseVDI, Floats, _scatter
from domindex.estimators.fitting import FitResult
from domindex.estimators.planning import Plan, Planner
from domindex.networks.decoders import ClassPredictor
from domindex.persistence.plain_values import from_plain, to_plain
from domindex.training.problem import Problem


class VDIClassifier(ClassifierMixin, BaseVDI):
    """Infer where each domain lies, and classify in the domains without labels.

    Parameters
    ----------
    index_dim : components of the global index β
    local_dim : components of the local index u
    flow : "auto" carries inputs along the map by an affine flow solved in closed form and then
        trained; None is the paper's model as written
    adversary : what is hidden from z: any of "graph", "domain", "index"
    adversary_weight, contrastive_weight, smoothness_weight : weights in the objective
    width : size of hidden layers
    batch_size : rows of each domain in a step
    index_steps, steps : training steps for the indices, and for the encoding (None: 500 with a
        flow, 1000 without)
    starts : times the encoding starts afresh, of which the best on the sources is kept (None: 1
        with a flow, 2 without)
    learning_rate : its peak
    accelerator, devices, strategy, precision : passed to Lightning Fabric
    n_jobs : processes for transport distances, as in joblib
    verbose : 1 shows a progress bar
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_, source_domains_ : domain names
    domain_indices_ : (domains, index_dim), the map
    domain_index_std_ : (domains, index_dim), its uncertainty
    domain_index_ : the map as a `DomainIndex`
    domain_distances_ : (domains, domains), the transport distances behind it
    history_ : DataFrame, a row per epoch and a column per term of the objective
    flow_ : which flow was chosen, and how well it fits
    """

    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}

    _task: ClassVar[Task] = "classification"

    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Probabilities (rows, classes), at the posterior means: deterministic.

        Domains never seen in `fit` are placed on the map first; without `sample_domain` all rows
        are one new domain.
        """
        inputs, names = self._check_query(X, sample_domain)
        parts = [
            (rows, predicted.probs[0].numpy())  # type: ignore[attr-defined]
            for rows, _, predicted in self._fitted.by_domain(inputs, names)
        ]
        probabilities = _scatter(len(inputs), parts)
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """The likeliest class of every row."""
        likeliest = self.predict_proba(X, sample_domain=sample_domain).argmax(axis=1)
        return self.classes_[likeliest]

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_domain: Any = None,
    ) -> float:
        """Mean accuracy of `predict`."""
        predicted = self.predict(X, sample_domain=sample_domain)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _planner(self, data: DomainData) -> Planner:
        assert data.classes is not None
        n_classes = len(data.classes)
        make_structure = self._structure_maker()

        def plan(problem: Problem, *start: Any) -> Plan:
            structure = make_structure(problem, *start)
            return Plan(
                problem, structure, partial(ClassPredictor, structure.latent_dim, n_classes)
            )

        return plan

    def _remember(self, data: DomainData, result: FitResult) -> None:
        assert data.classes is not None
        self.classes_ = np.array(data.classes)
        super()._remember(data, result)

    def _describe_outputs(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        classes = [to_plain(name, "A class") for name in self.classes_.tolist()]
        return {"classes": classes, "type": self.classes_.dtype.str.lstrip("<>=|")}, {}

    def _revive_outputs(self, described: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        classes = [from_plain(name) for name in described["classes"]]
        self.classes_ = class_array(classes, described["type"])
