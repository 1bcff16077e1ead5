"""Regression in domains without labels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, overload

from numpy.typing import NDArray

from domindex.data.domain_data import Task
from domindex.estimators.base import Floats
from domindex.estimators.vdi import BaseVDI


class VDIRegressor(BaseVDI):
    """Infer where each domain lies, and predict values in the domains without labels.

    Any number of outputs; predictions and their deviations are in the units of `y`.

    Parameters
    ----------
    index_dim : components of the global index β
    local_dim : components of the local index u, at most as many as features; None takes as many
        as the domains differ along (4 for the paper's model)
    flow : "auto" lets inputs be aligned along the map by an affine flow if that is the best
        choice; None is the paper's model as written
    representation : how rows are represented so that a rule holds in every domain, by name
        (`list_representations`). "row_standardised" subtracts a row's own mean and divides by its
        own deviation, "row_centred" only subtracts, "domain_scaled" does both with one mean and
        deviation of the domain; each is undone in the output, which must share the units of the
        inputs. "raw" leaves rows as they are. "auto" tries these and the flow, and chooses by
        error on held-out source domains and by how many source rows resemble the targets'
    predictor : "network" is the variational network; others by name (`list_predictors`), or
        an estimator like those of scikit-learn, which stays as it is; "auto" is the network
    network : sizes of the networks and weights of their objective, a `Network`
    training : how long and where they are trained, a `Training`
    n_jobs : processes for transport distances, as in joblib
    verbose : 1 shows progress bars
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    domains_ : domain names
    source_domains_ : names of those with labels
    domain_indices_ : (domains, index_dim), the map
    domain_index_std_ : (domains, index_dim), its uncertainty
    domain_index_ : the map as a `DomainIndex`
    domain_distances_ : (domains, domains), the transport distances behind it
    representation_ : the representation in use
    candidates_ : DataFrame, a row for each representation that was tried: error on held-out source
        domains, effective sample fraction of the sources, score (lower is better), whether a
        network may bend it, whether it can be trusted, and whether it was chosen
    history_ : DataFrame, a row per epoch and a column per term of the objective
    flow_ : which flow was chosen, and how well it fits; None where none is in use

    Examples
    --------
    >>> from domindex import Training, VDIRegressor
    >>> from domindex.datasets import make_drift
    >>> data = make_drift(n_domains=6, n_sources=3, samples_per_domain=20)
    >>> y = data.X.sum(axis=1)
    >>> model = VDIRegressor(training=Training(steps=5, index_steps=5), random_state=0)
    >>> model = model.fit(
    ...     data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains
    ... )
    >>> mean, deviation = model.predict(
    ...     data.X[:5], sample_domain=data.sample_domain[:5], return_std=True
    ... )
    >>> mean.shape, bool((deviation > 0).all())
    ((5,), True)
    """

    _task: ClassVar[Task] = "regression"

    @overload
    def predict(
        self, X: Any, *, sample_domain: Any = ..., return_std: Literal[False] = ...
    ) -> NDArray: ...

    @overload
    def predict(
        self, X: Any, *, sample_domain: Any = ..., return_std: Literal[True]
    ) -> tuple[Floats, Floats]: ...

    def predict(
        self, X: Any, *, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray | tuple[Floats, Floats]:
        """Values (rows,) or (rows, outputs), with their deviations where asked for.

        The deviation is that of an observation in a domain without labels. Domains never seen in
        `fit` are placed on the map first; without `sample_domain` all rows are one new domain.
        """
        inputs, names = self._check_query(X, sample_domain)
        predicted = self._predict(inputs, names)
        assert predicted.deviation is not None
        mean, deviation = self._as_labels(predicted.mean), self._as_labels(predicted.deviation)
        return (mean, deviation) if return_std else mean
