"""Classification in domains without labels."""

from __future__ import annotations

from typing import Any, ClassVar

from domindex.data.domain_data import Task
from domindex.data.labels import class_array
from domindex.estimators.vdi import BaseVDI


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
        (`list_representations`); "auto" follows the flow
    predictor : "network" is the variational network; others by name (`list_predictors`), or
        an estimator like those of scikit-learn, which stays as it is; "auto" is the network
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
    candidates_ : DataFrame, a row for each representation that was considered
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

    def state(self) -> dict[str, Any]:
        kind = self.classes_.dtype.str.lstrip("<>=|")
        return {**super().state(), "classes": self.classes_.tolist(), "class_type": kind}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.classes_ = class_array(state["classes"], state["class_type"])
