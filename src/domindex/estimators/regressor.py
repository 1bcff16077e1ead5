"""Regression in domains without labels."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, overload

from numpy.typing import NDArray

from domindex.arrays import Floats
from domindex.estimators.streaming import streams
from domindex.estimators.vdi import BaseVDI
from domindex.inputs.domain_data import Task


class VDIRegressor(BaseVDI):
    """Infer where each domain lies, and predict values in the domains without labels.

    A committee predicts: candidates, pairs of a representation and a predictor, are validated on
    source domains held out along the map, and weighed by what they were worth there. Any number of
    outputs; predictions and their deviations are in the units of `y`.

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
    predictor : "auto" tries linear rules, a kernel, trees, boosting, boosting on top of a linear
        rule and, where the flow counts, the variational network; a name of `list_predictors`,
        "network", or an estimator like those of scikit-learn, which stays as it is, prescribes one
    candidates : pairs (representation, predictor) to choose from, in place of the two above; each
        predictor by name or as an estimator
    effort : "full", or "quick" for linear rules and trees only
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
        map), distance (to it), expected_error (root mean
        squared; in units of y for one output, of the outputs' spread for several) with low and high
        (80 %), and for comparison held_out_mean
    history_ : DataFrame, a row per epoch and a column per term of the objective
    timings_ : DataFrame, seconds by stage of the fit
    flow_ : which flow was found, and how well it fits; None where no member follows it
    grid_flow_ : which motion of pictures or signals was found; None where no member follows it

    `forecast(X, sample_domain=)` gives the same for any rows, and `summary()` says in words who
    predicts, why others do not, and what to expect.

    Examples
    --------
    >>> from domindex import Training, VDIRegressor
    >>> from domindex.datasets import make_drift
    >>> data = make_drift(n_domains=6, n_sources=3, samples_per_domain=20)
    >>> y = data.X.sum(axis=1)
    >>> model = VDIRegressor(
    ...     candidates=[("raw", "linear"), ("flow", "linear")],
    ...     training=Training(steps=5, index_steps=5),
    ...     random_state=0,
    ... )
    >>> model = model.fit(
    ...     data.X, y, sample_domain=data.sample_domain, source_domains=data.source_domains
    ... )
    >>> mean, deviation = model.predict(
    ...     data.X[:5], sample_domain=data.sample_domain[:5], return_std=True
    ... )
    >>> mean.shape, bool((deviation > 0).all())
    ((5,), True)
    >>> model.forecast_[["domain", "expected_error"]].shape
    (3, 2)
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

    @streams
    def predict(
        self, X: Any, *, sample_domain: Any = None, return_std: bool = False
    ) -> NDArray | tuple[Floats, Floats]:
        """Values (rows,) or (rows, outputs), with their deviations where asked for.

        The deviation is that of an observation in a domain without labels. Domains never seen in
        `fit` are placed on the map first; without `sample_domain` all rows are one new domain, with
        a warning.

        Examples
        --------
        >>> model = VDIRegressor(**few, random_state=0)
        >>> model = model.fit(data.X, data.X[:, 0], **rows, source_domains=[0, 1, 2])
        >>> mean, deviation = model.predict(data.X, **rows, return_std=True)
        >>> mean.shape, bool((deviation > 0).all())
        ((100,), True)
        """
        inputs, names = self._query_with_domains(X, sample_domain)
        predicted = self._predict(inputs, names)
        assert predicted.deviation is not None
        mean, deviation = self._as_labels(predicted.mean), self._as_labels(predicted.deviation)
        return (mean, deviation) if return_std else mean
