"""Classification in domains without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from domindex.data.domain_data import Task
from domindex.data.labels import class_array
from domindex.estimators.vdi import BaseVDI
from domindex.training.settings import Network, Training


class VDIClassifier(BaseVDI):
    """Infer where each domain lies, and classify in the domains without labels.

    Parameters
    ----------
    index_dim : components of the global index β
    local_dim : components of the local index u, at most as many as features; None takes as many
        as the domains differ along (4 for the paper's model)
    flow : "auto" aligns inputs along the map by an affine flow solved in closed form and then
        trained; None is the paper's model as written
    representation : how rows are represented for the predictor, by name
        (`list_representations`); "auto" tries them all
    predictor : "network" is the variational network; others by name (`list_predictors`), or
        an estimator like those of scikit-learn, which stays as it is; "auto" tries them all
    candidates : pairs of a representation and a predictor to choose among; None for all
    effort : "full", or "quick" for linear rules and trees alone
    class_weight : "balanced" lets every class count alike, a mapping from class to weight lets
        each count as it says; None counts rows
    network : sizes of the networks and weights of their objective, a `Network`
    training : how long and where they are trained, a `Training`
    n_jobs : processes for transport distances, as in joblib
    verbose : 1 shows progress bars
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_ : domain names
    source_domains_ : names of those with labels
    domain_indices_ : (domains, index_dim), the map
    domain_index_std_ : (domains, index_dim), its uncertainty
    domain_index_ : the map as a `DomainIndex`
    domain_distances_ : (domains, domains), the transport distances behind it
    representation_ : the representation in use
    candidates_ : DataFrame, a row for each candidate: held-out losses, price, weight
    forecast_ : DataFrame, a row for each target domain: what accuracy to expect there
    history_ : DataFrame, a row per epoch and a column per term of the objective
    flow_ : which flow was chosen, and how well it fits; None where none is in use

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=6, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(training=Training(steps=5, index_steps=5), random_state=0)
    >>> model = model.fit(
    ...     data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
    ... )
    >>> model.domain_indices_.shape
    (6, 2)
    >>> model.predict_proba(data.X[:5], sample_domain=data.sample_domain[:5]).shape
    (5, 2)
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        *,
        index_dim: int = 2,
        local_dim: int | None = None,
        flow: str | None = "auto",
        representation: str = "auto",
        predictor: Any = "auto",
        candidates: Sequence[tuple[str, Any]] | None = None,
        effort: str = "full",
        class_weight: str | Mapping[Any, float] | None = None,
        network: Network | None = None,
        training: Training | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            index_dim=index_dim,
            local_dim=local_dim,
            flow=flow,
            representation=representation,
            predictor=predictor,
            candidates=candidates,
            effort=effort,
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
        super()._restore(state)
        self.classes_ = class_array(state["classes"], state["class_type"])
