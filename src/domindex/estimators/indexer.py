"""The map of the domains: the first stage of a fit, and, alone, an estimator without labels."""

from __future__ import annotations

import os
from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Floats
from domindex.committee import index_inference, words
from domindex.committee.committee import Prediction
from domindex.committee.context import FitContext, Workers, fit_context, one_thread
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.index_inference import infer_indices
from domindex.committee.record import FitRecord
from domindex.committee.settings import ChoiceSettings
from domindex.errors import InputError
from domindex.estimators.base import Names
from domindex.estimators.fitted import MappedEstimator, warn_of_collapse
from domindex.estimators.frames import FitArguments, is_beyond_memory, is_dataset, take_named
from domindex.geometry import DomainIndex
from domindex.geometry.domain_geometry import DomainGeometry, scaled_clouds
from domindex.geometry.off_map import OffMapTest
from domindex.inputs import DomainData, check_domain_names, order_names
from domindex.inputs.domain_data import Task, check_inputs_kind
from domindex.inputs.parameters import MAX_DIMENSIONS, check_running, require_counts, require_texts
from domindex.inputs.streams import is_stream
from domindex.inputs.windows import OrderWindows
from domindex.neural.backbones import as_backbone
from domindex.neural.settings import Training
from domindex.persistence.stage_cache import StageCache
from domindex.progress import Progress
from domindex.representations.map_rows import rows_for_map
from domindex.vdi.settings import Network

if TYPE_CHECKING:
    from typing_extensions import Self

QUICK_TRAINING = {"index_steps": 50}
QUICK_CHOICES = ChoiceSettings(near_folds=3, far_folds=2, separability_folds=1)
"""With effort="quick": indices hardly trained, and fewer folds."""


NOTHING_TO_PREDICT = (
    "DomainIndexer has no labels to predict. Fit a CrossDomainClassifier or a "
    "CrossDomainRegressor on the same rows with labels of some domains."
)


class IndexingEstimator(MappedEstimator):
    """One whose map is drawn in closed form, from inputs alone, and refined by the bound."""

    _parts: ClassVar[dict[str, Any]] = {**MappedEstimator._parts, "windows": OrderWindows}
    _windows: OrderWindows | None = None  # where domains are windows along an order

    index_dim: int
    local_dim: int | None
    effort: str
    network: Network | None
    training: Training | None
    verbose: int

    def name_domains(self, order: Any) -> list[Hashable]:
        """The window along the order of the fit that each row lies in, for `sample_domain`.

        Rows before the first window, or after the last, are one new domain each.

        Examples
        --------
        >>> from domindex import DomainIndexer
        >>> indexer = DomainIndexer(effort="quick").fit(data.X, order=np.arange(100))
        >>> len(set(indexer.name_domains([0, 99, 120])))
        3
        """
        return list(self._known_windows().names_of(order))

    def index_at(self, order: Any) -> Floats:
        """Where the map is at each value of the order of the fit, (values, index_dim).

        In a straight line between the middles of windows, with a jump where they jump; beyond the
        last window as the last few went on.

        Examples
        --------
        >>> from domindex import DomainIndexer
        >>> indexer = DomainIndexer(effort="quick").fit(data.X, order=np.arange(100))
        >>> bool((indexer.index_at(np.arange(100)) == indexer.row_index_).all())
        True
        """
        return self._places_in_order(order, self.domain_index_)

    def _places_in_order(self, order: Any, index: DomainIndex) -> Floats:
        """Of each value of the order on a map of the windows, (values, index_dim)."""
        windows = self._known_windows()
        return windows.places(order, np.stack([np.asarray(index.find(n)) for n in windows.names]))

    def _known_windows(self) -> OrderWindows:
        check_is_fitted(self)
        if self._windows is None:
            raise InputError(
                "The model was fitted on named domains, and knows no order. Fit it with order= in "
                "place of sample_domain."
            )
        return self._windows

    def _by_order(self, given: FitArguments, order: Any) -> tuple[FitArguments, OrderWindows, Any]:
        """The same rows with windows along an order for domains, and the value of each row."""
        if given.sample_domain is not None or given.source_domains is not None:
            raise InputError(
                "order is given, and sample_domain or source_domains too. Pass names of domains, "
                "or an order of which they are made; windows with labels are then the sources."
            )
        if is_beyond_memory(given.X):
            raise InputError(
                f"X is a {type(given.X).__name__}, which is read in parts, and windows along an "
                "order are made of rows in memory. Pass an array or a data frame."
            )
        given = take_named(replace(given, sample_domain=order if isinstance(order, str) else None))
        values = given.sample_domain if isinstance(order, str) else order
        windows = OrderWindows.fit(given.X, values, given.y)
        return replace(given, sample_domain=windows.names_of(values)), windows, values

    def _fit_along(
        self, given: FitArguments, order: Any, checkpoint: str | os.PathLike[str] | None
    ) -> Self:
        """Fit a copy on these rows, with windows along an order for domains where one is given."""
        windows, values = None, None
        if order is not None:
            given, windows, values = self._by_order(given, order)
        with (
            StageCache.open(checkpoint) as stages,
            self._copy_to_fit(given, stages) as (model, data),
        ):
            model._fit_data(data)
            model._set_windows(windows, values)
        return self

    def _set_windows(self, windows: OrderWindows | None, values: Any = None) -> None:
        """What a user can read of domains that were made of an order; nothing of named ones."""
        for name in ("discovered_domains_", "boundaries_", "row_index_"):
            self.__dict__.pop(name, None)  # of a fit before
        self._windows = windows
        if windows is not None:
            self.discovered_domains_, self.boundaries_ = windows.table(), windows.boundaries
            if values is not None:
                self.row_index_ = self.index_at(values)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._set_windows(self._windows)

    def _fit_context(self, data: DomainData) -> AbstractContextManager[FitContext]:
        """Settings, random generators and progress of a fit, while it runs."""
        training, seed = self.training or Training(), self._begin(data)
        quick = self.effort == "quick"
        backbone = self._trained_backbone(data.inputs)
        special = QUICK_TRAINING if quick else {}
        return fit_context(
            data,
            self.network or Network(),
            training,
            training.settings(**special),
            seed,
            self.verbose,
            self._choices(data),
            backbone=backbone,
            stages=self._stages,
        )

    def _choices(self, data: DomainData) -> ChoiceSettings:
        """By what candidates are chosen, where there are any."""
        return QUICK_CHOICES if self.effort == "quick" else ChoiceSettings()

    def _map_domains(
        self, data: DomainData, context: FitContext
    ) -> tuple[FittedIndices, DomainGeometry]:
        """The map of the closed form, with a flow along it, and indices refined."""

        def closed_form() -> DomainGeometry:
            how: Any = {"local_dim": self.local_dim, "n_jobs": self.n_jobs}
            return DomainGeometry.fit(data, self.index_dim, map_rows=rows_for_map(data), **how)

        with context.timings.stage("mapping"):
            stored = index_inference.load_map(context)
            if stored is not None:
                return stored
            self._announce_cost(data, context.progress)
            for _ in context.progress.track("mapping", 1):
                geometry = context.stages.get("closed form", closed_form)
                may_refine = self.effort != "quick"
                drawn = infer_indices(data, geometry, context, may_refine=may_refine)
            index_inference.store_map(context, *drawn)
        return drawn

    def _announce_cost(self, data: DomainData, progress: Progress) -> None:
        """About how long it will take, where somebody looks on and it is long."""

    def _set_map(self, data: DomainData, geometry: DomainGeometry, indices: FittedIndices) -> None:
        """What a user can read of the map, and what says who is off it."""
        clouds = scaled_clouds(data, geometry.scaler)
        on_map = [cloud[rows] for cloud, rows in zip(clouds, geometry.map_rows)]
        self._off_map_test = OffMapTest.fit(data.domains, on_map, geometry.projection.matrix)
        self._set_fitted(indices)

    def _said_of_map(self) -> list[str]:
        """Whether it closes, and what drawing it from landmarks costs, in words."""
        domain_map, said = self._indices.domain_map, []
        loop = domain_map.loop
        if loop is not None:
            drawn = [self.domains_[number] for number in domain_map.drawn]
            said.append(words.describe_loop(loop.persistence, loop.order, drawn))
        if domain_map.landmark_error is not None:
            said.append(str(domain_map.landmark_error))
        return said

    def _check_parameters(self) -> None:
        check_running(self)
        require_texts(self, "inputs", "effort")
        check_inputs_kind(self.inputs)
        require_counts(self, "index_dim", most=MAX_DIMENSIONS)
        if self.local_dim is not None:
            require_counts(self, "local_dim", most=MAX_DIMENSIONS)
        if self.effort not in ("full", "quick"):
            raise InputError(f"effort is {self.effort!r}. Choose one of ('full', 'quick').")
        for name, kind in (("network", Network), ("training", Training)):
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                wanted = f"Pass a domindex.{kind.__name__}, or None for defaults."
                raise InputError(f"{name} is {given!r:.60}. {wanted}")
        (self.network or Network()).check()
        (self.training or Training()).check()
        as_backbone(self.backbone)


class DomainIndexer(IndexingEstimator):
    """The map of the domains alone: no labels, no predictions.

    The index of every domain with its uncertainty, the local index u of every row (`transform`),
    distances, graph, places of new domains, plots and a report; as `CrossDomainClassifier` has them
    where its map is drawn from inputs alone.

    Parameters
    ----------
    inputs, index_dim, local_dim : as of `CrossDomainClassifier`
    effort : "full", or "quick", which leaves indices as the closed form has them
    backbone, network, training, n_jobs, verbose : as of `CrossDomainClassifier`
    random_state : seed; the same seed gives the same map

    Attributes
    ----------
    domains_ : domain names
    domain_indices_, domain_angles_, domain_index_std_, domain_index_, landmark_domains_,
    added_domains_, off_map_domains_, history_, timings_, discovered_domains_, boundaries_,
    row_index_ : as of `CrossDomainClassifier`

    Examples
    --------
    >>> from domindex import DomainIndexer
    >>> indexer = DomainIndexer(random_state=0).fit(data.X, **rows)
    >>> indexer.domain_indices_.shape, indexer.transform(data.X).shape[0]
    ((5, 2), 100)
    """

    __metadata_request__fit: ClassVar = {"source_domains": UNUSED}

    def __init__(
        self,
        *,
        inputs: str = "auto",
        index_dim: int = 2,
        local_dim: int | None = None,
        effort: str = "full",
        backbone: Any = None,
        network: Network | None = None,
        training: Training | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.inputs, self.index_dim, self.local_dim = inputs, index_dim, local_dim
        self.effort, self.backbone, self.network = effort, backbone, network
        self.training, self.n_jobs, self.verbose = training, n_jobs, verbose
        self.random_state = random_state

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        order: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Map the domains of these rows.

        Parameters
        ----------
        X : array, data frame, which may hold texts and gaps, or tensor, as for
            `CrossDomainClassifier.fit`; a memory-mapped array may be larger than memory
        y : never read; the name of a column of a data frame leaves that column out of the inputs
        sample_domain : a domain name per row, or the name of a column of a data frame
        order : in place of names, numbers or dates along which domains are made, as of
            `CrossDomainClassifier.fit`
        checkpoint : a folder for what is finished, as of `CrossDomainClassifier.fit`

        Examples
        --------
        >>> from domindex import DomainIndexer
        >>> DomainIndexer(effort="quick").fit(data.X, **rows).domains_
        [0, 1, 2, 3, 4]
        """
        given = FitArguments(X, y if isinstance(y, str) else None, sample_domain)
        return self._fit_along(given, order, checkpoint)

    def _by_order(self, given: FitArguments, order: Any) -> tuple[FitArguments, OrderWindows, Any]:
        """A column of labels leaves the inputs; windows do not read it."""
        return super()._by_order(replace(take_named(given), y=None), order)

    def _check_arguments(self, given: FitArguments) -> DomainData:
        """All domains play one role, and zeros stand for the labels that nobody reads."""
        if is_dataset(given.X) or (is_stream(given.X) and is_beyond_memory(given.X)):
            raise InputError(
                f"X is a {type(given.X).__name__}, which is read in parts, and a map without "
                "labels is drawn from rows in memory or a memory-mapped array. Pass a sample of "
                "the rows of every domain."
            )
        given = take_named(given)
        n_rows = len(getattr(given.X, "frame", given.X))
        names = check_domain_names(given.sample_domain, n_rows)
        every: list[Hashable] = order_names(names)
        given = replace(given, y=np.zeros(n_rows), sample_domain=names, source_domains=every)
        return super()._check_arguments(given)

    def _fit_data(self, data: DomainData) -> None:
        with self._fit_context(data) as context:
            indices, geometry = self._map_domains(data, context)
            self._set_map(data, geometry, indices)
            with context.timings.stage("explaining"), one_thread():
                workers = Workers(self.n_jobs, context.n_threads)
                given = None, None, data, self._column_names(data), context.seed, workers
                self._record = FitRecord.of(*given)
        self.source_domains_ = []  # none has labels
        self.history_, self.timings_ = context.history.to_frame(), context.timings.table()
        warn_of_collapse(self.domain_indices_)

    def summary(self) -> str:
        """What the map is, in words.

        Examples
        --------
        >>> from domindex import DomainIndexer
        >>> DomainIndexer(effort="quick").fit(data.X, **rows).summary()
        'A map of 5 domains, drawn from inputs alone: no label was read, and nothing is predicted.'
        """
        check_is_fitted(self)
        said = (
            f"A map of {len(self.domains_)} domains, drawn from inputs alone: no label was read, "
            "and nothing is predicted."
        )
        return "\n".join([said, *self._said_of_map()])

    def _predicts(self) -> bool:
        raise AttributeError(NOTHING_TO_PREDICT)

    def _predict(self, inputs: NDArray, names: Names) -> Prediction:
        raise InputError(NOTHING_TO_PREDICT)

    def _program(self) -> Any:
        raise InputError(NOTHING_TO_PREDICT)

    def _check_restored(self, row: Any) -> None:
        if not np.isfinite(self._indices.local_indices(row)).all():
            raise ValueError("local indices are NaN")

    def _task_to_fit(self) -> Task:
        return "regression"  # of zeros; no class is looked for

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags = None, None
        tags.target_tags.required = False
        return tags
