"""What every estimator of the library shares: the gate for its data, and what comes out of it."""

from __future__ import annotations

import numbers
from abc import ABCMeta, abstractmethod
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from domindex.arrays import Floats, Ints
from domindex.cluster import cluster_errors
from domindex.errors import InputError
from domindex.estimators import frames, streaming
from domindex.estimators.frames import FitArguments, is_beyond_memory
from domindex.estimators.streaming import streams
from domindex.inputs import DomainData, check_domain_data, check_domain_names, check_inputs
from domindex.inputs.bounds import InputBounds, warn_of_drawn_in
from domindex.inputs.domain_data import Task, read_layout
from domindex.inputs.gate import (
    check_label_array,
    check_weight_array,
    tame_labels,
    with_row_weights,
)
from domindex.inputs.messages import preview
from domindex.inputs.names import group_rows, warn_of_look_alikes
from domindex.inputs.streams import is_stream
from domindex.persistence.stage_cache import StageCache

if TYPE_CHECKING:
    from typing_extensions import Self

    from domindex.inputs.preparation import TablePreparation
    from domindex.neural.backbones import FeatureExtractor, TrainedBackbone

Names = list[Hashable] | None


class DomainEstimator(BaseEstimator, metaclass=ABCMeta):
    """An estimator that is given a domain name with every row.

    A subclass says how it fits checked data (`_fit_data`) and what it predicts (`_predict_mean`).
    """

    __metadata_request__fit: ClassVar = {"sample_domain": True, "source_domains": True}
    __metadata_request__predict: ClassVar = {"sample_domain": True}
    __metadata_request__predict_proba: ClassVar = {"sample_domain": True}
    __metadata_request__score: ClassVar = {"sample_domain": True, "sample_weight": True}

    _input_shape: tuple[int, ...]  # of one row of X, before a backbone
    _extractor: FeatureExtractor | None = None  # a frozen backbone: its features are the inputs
    _preparation: TablePreparation | None = None  # of a data frame with texts or gaps
    _bounds: InputBounds | None = None  # which values are too far out; None for grids
    # which column of X each input is, where the fit put them in an order of its own
    _columns: Ints | None = None
    domains_: list[Hashable]
    source_domains_: list[Hashable]
    _domain_column: str | None = None  # of a data frame, that named the domains in `fit`
    _target_column: str | None = None  # that held the labels in `fit`: no input later
    _stages = StageCache()  # of a fit in progress that may be cut off and resumed

    _needs_targets: ClassVar[bool] = False  # whether domains without labels are part of the method
    _reads_target_labels: ClassVar[bool] = False  # whether it learns from a few labels of targets

    inputs: str = "table"  # parameters of those that take them
    n_jobs: int | None = None
    backbone: Any = None
    class_weight: Any = None
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
    ) -> Self:
        """Learn from all inputs and the sources' labels.

        Parameters
        ----------
        X, y, sample_domain, source_domains : as in `CrossDomainClassifier.fit`

        Examples
        --------
        >>> moment_flow.source_domains_
        [0, 1, 2]
        """
        given = FitArguments(X, y, sample_domain, source_domains)
        with self._copy_to_fit(given, StageCache()) as (model, data):
            model._fit_data(data)
        return self

    @contextmanager
    def _copy_to_fit(
        self, given: FitArguments, stages: StageCache
    ) -> Iterator[tuple[Self, DomainData]]:
        """A copy, whose attributes are taken over at the end: a fit cut off changes nothing."""
        model = copy(self)
        model._stages = stages
        with cluster_errors():
            model._check_parameters()
            data = model._check_arguments(given)
            names = data.domains
            data = data.in_canonical_order(may_move_columns=model._may_move_columns())
            model._columns = data.columns
            model.task_ = data.task
            model.domains_ = list(data.domains)
            model.source_domains_ = list(data.source_domains)
            model._single_output = data.single_output
            if data.classes is not None:
                model.classes_ = np.array(data.classes)
            yield model, data
            model._put_in_order(names)
        del model._stages
        self.__dict__ = model.__dict__

    def _may_move_columns(self) -> bool:
        """Whether nothing that is the user's own may go by where a column stands."""
        return self.backbone is None or self._extractor is not None

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        """Give what was fitted on domains in canonical order back in the user's order of names."""
        sources: set[Hashable] = set(self.source_domains_)
        self.domains_ = list(names)
        self.source_domains_ = [name for name in names if name in sources]

    def _check_arguments(self, given: FitArguments) -> DomainData:
        """One gate for rows in memory, on disk and in a stream: of the latter two, a sample."""
        self._extractor = self._preparation = self._bounds = None
        in_memory = not is_beyond_memory(given.X)
        if given.columns is not None and not in_memory:
            raise InputError(
                "columns is given, which is for data frames in memory, and X is read in parts. "
                "Leave it out, or choose columns before."
            )
        if in_memory:
            given = frames.complete_arguments(given, self._reads_target_labels)
            self._preparation = frames.frame_preparation(given)
        elif is_stream(given.X):
            state = self.random_state  # a generator is not used up by a sample
            seed = int(state) if isinstance(state, numbers.Integral) else 0
            given = streaming.sample_table(given, seed)
        else:
            rows = streaming.numbered_rows(given.X, given.sample_domain, self.n_jobs)
            self._input_shape = rows.shape
            if self.backbone is not None:
                tried = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, 256)).astype(np.int64)
                self._extractor = self._frozen_backbone(check_inputs(rows.read(tried)))
            given = streaming.sample_array(rows, given, self._extractor, self._seed())
        self._domain_column, self._target_column = given.domain_column, given.target_column
        inputs = frames.prepared_inputs(self._preparation, given.X)
        roles = given.y, given.sample_domain, given.source_domains
        kind = "table" if self._extractor is not None else self.inputs
        data = check_domain_data(inputs, *roles, task=self._task_to_fit(), kind=kind)
        data = with_row_weights(data, given.sample_weight, self.class_weight)
        if data.target_labels is not None and not self._reads_target_labels:
            frames.warn_unread_labels(type(self).__name__)
            data = replace(data, target_labels=None)
        if self._needs_targets and data.is_source.all():
            raise InputError(
                f"There is no target domain: all {data.n_domains} domains "
                f"({preview(data.domains)}) are sources, and {type(self).__name__} learns from "
                "domains without labels too. Leave some out of source_domains (without it, domains "
                "with a negative number are the targets), or fit a CrossDomainClassifier or a "
                "CrossDomainRegressor, which need none."
            )
        if data.n_domains == 1:
            raise InputError(
                f"All rows are of one domain, {data.domains[0]!r}, so there is nothing to map. "
                "Name what tells domains apart in sample_domain, or add rows of other domains."
            )
        self._check_data(data)
        data = tame_labels(data)
        if self._extractor is not None:  # a sample of rows on disk went through a backbone
            self._remember_columns(np.empty((1, *self._input_shape)))
            return data
        self._remember_columns(given.X)
        self._input_shape = data.inputs.shape[1:]
        data = self._within_bounds(data, has_row_numbers=in_memory)
        self._extractor = self._frozen_backbone(data.inputs)
        if self._extractor is None:
            return data
        features = self._extractor.table(data.inputs)  # computed once
        return replace(data, inputs=features, layout=read_layout(features.shape, "table"))

    @property
    def preparation_(self) -> tuple[str, ...]:
        """What was done to the columns of a data frame with texts or gaps, a sentence each.

        Examples
        --------
        >>> model.preparation_
        ()
        """
        check_is_fitted(self, "domains_")
        return () if self._preparation is None else self._preparation.notes

    @available_if(lambda self: self._predicts())
    @streams
    def predict(self, X: Any, *, sample_domain: Any = None) -> NDArray:
        """The likeliest class, or the expected values, of every row.

        X may be whatever `fit` takes, and `sample_domain` name a column of a data frame. Domains
        never seen are placed by their rows; without names all rows are one, with a warning.

        Examples
        --------
        >>> model.predict(data.X, **rows).shape
        (100,)
        """
        inputs, names = self._check_query(X, sample_domain, warn=True)
        return self._as_labels(self._predict_mean(inputs, names))

    @available_if(lambda self: self._known_task() != "regression")
    @streams
    def predict_proba(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """Probabilities (rows, classes), in the order of `classes_`: deterministic.

        Examples
        --------
        >>> model.predict_proba(data.X, **rows).shape
        (100, 2)
        """
        probabilities = self._predict_mean(*self._check_query(X, sample_domain, warn=True))
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    @available_if(lambda self: bool(self.predict))
    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sample_domain: Any = None,
    ) -> float:
        """Mean accuracy of `predict`, or R² averaged over outputs.

        `y` may name a column of a data frame. Rows without a label are left out, with a warning.

        Examples
        --------
        >>> 0.0 <= model.score(data.X, data.y, **rows) <= 1.0
        True
        """
        rows = frames.scored_rows(FitArguments(X, y, sample_domain, sample_weight=sample_weight))
        predicted = self.predict(rows.X, sample_domain=rows.sample_domain)
        measure = accuracy_score if self._known_task() == "classification" else r2_score
        y, weights = check_label_array(rows.y, len(predicted)), rows.sample_weight
        if weights is not None:
            weights = check_weight_array(weights, len(predicted))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                score = float(measure(y, predicted, sample_weight=weights))
        except (TypeError, ValueError, ArithmeticError) as error:  # scikit-learn's own words
            said = f"y cannot be compared with predictions such as {predicted[0]!r} ({error})."
            raise InputError(f"{said} Pass labels as those of the fit.") from error
        if not np.isfinite(score):
            raise InputError(
                f"The score of {len(predicted)} rows comes to {score}: R² takes two rows or more, "
                "and y and weights whose squares and sums are numbers. Pass those of the fit's "
                "units."
            )
        return score

    @abstractmethod
    def _fit_data(self, data: DomainData) -> None:
        """Learn from checked data, whose names and classes are set already."""

    @abstractmethod
    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        """Probabilities (rows, classes) or values (rows, outputs) of checked rows."""

    def _predicts(self) -> bool:
        """Whether there is anything to predict; AttributeError says why not."""
        return True

    def _open_domains(self, present: Iterable[Hashable]) -> list[Hashable]:
        """Those of which a prediction depends on rows beside the one predicted."""
        known = set(self.domains_)
        return [name for name in present if name not in known]

    def _settled(self, X: Any, names: list[Hashable]) -> Self:
        """A copy that has measured the domains of these rows; by default nothing is measured."""
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be used, before any work."""

    def _check_data(self, data: DomainData) -> None:
        """Refuse data that the method cannot serve."""

    def _frozen_backbone(self, inputs: NDArray) -> FeatureExtractor | None:
        """The backbone that is to be left as it is, tried on some inputs; None without one."""
        if self.backbone is None:
            return None
        from domindex.neural.backbones import as_backbone, prepare_extractor  # torch, where needed

        backbone = as_backbone(self.backbone)
        if backbone is None or not backbone.frozen:
            return None
        return prepare_extractor(backbone, inputs, self._seed())

    def _trained_backbone(self, inputs: NDArray) -> TrainedBackbone | None:
        """The backbone that is to be trained, tried on some inputs; None without one."""
        if self.backbone is None or self._extractor is not None:
            return None
        from domindex.neural.backbones import TrainedBackbone, as_backbone, prepare_extractor

        backbone = as_backbone(self.backbone)
        assert backbone is not None
        return TrainedBackbone(prepare_extractor(backbone, inputs, self._seed()), backbone.share)

    def _within_bounds(self, data: DomainData, *, has_row_numbers: bool) -> DomainData:
        """Learn how far values may lie out; rows beyond do not count, or are drawn in if many."""
        if self._extractor is not None or data.layout.is_grid or data.inputs.ndim != 2:
            return data
        self._bounds = InputBounds.fit(data)
        groups = zip(data.domains, data.rows_by_domain())
        bounded = self._bounds.apply(data.inputs, groups)
        if bounded is data.inputs:
            return data
        kept = self._bounds.rows_to_learn_from(data)
        if self._preparation is None:
            how = {"has_row_numbers": has_row_numbers}
            n_left_out = data.n_rows - len(kept)
            warn_of_drawn_in(data.inputs, bounded, self._input_names(), n_left_out, **how)
        return replace(data, inputs=bounded).select(kept, data.is_source)

    def _task_to_fit(self) -> Task | None:
        """What kind of labels to expect; None to guess by the labels."""
        return None

    def _known_task(self) -> str | None:
        """The task as far as it is known before or after `fit`."""
        return getattr(self, "task_", None) or self._task_to_fit()

    def _as_labels(self, predicted: Floats) -> NDArray:
        if self.task_ == "classification":
            return self.classes_[predicted.argmax(axis=1)]
        return predicted[:, 0] if self._single_output else predicted

    def _seed(self) -> int:
        """A whole number from `random_state`."""
        if self.random_state is None and self._stages.folder is not None:
            return self._stages.seed()
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _behind_gate(self, inputs: NDArray, names: Names) -> NDArray:
        """Rows of domains within bounds, and through a frozen backbone, if any."""
        return self._features(self._within(inputs, names))

    def _within(self, inputs: NDArray, names: Names) -> NDArray:
        if self._bounds is None:
            return inputs
        return self._bounds.apply(inputs, group_rows(names, len(inputs)))

    def _features(self, inputs: NDArray) -> NDArray:
        """Rows with a column for each input of the fit, in its order."""
        table = inputs if self._extractor is None else self._extractor.table(inputs)
        return table if self._columns is None else table[:, self._columns]

    def _in_own_columns(self, features: NDArray) -> NDArray:
        """Rows as `_features` gives them, with columns where the user has them."""
        return features if self._columns is None else features[:, np.argsort(self._columns)]

    def _check_rows(self, X: Any) -> NDArray:
        """Rows behind the gate, each by itself, whatever their domains."""
        inputs = self._read_rows(X)
        if self._bounds is not None:
            inputs = self._bounds.apply_by_row(inputs)
        return self._features(inputs)

    def _read_rows(self, X: Any) -> NDArray:
        """Rows as numbers, with the columns of the fit, without those of domains and labels."""
        check_is_fitted(self)
        X = frames.without_columns(X, (self._domain_column, self._target_column))
        inputs = check_inputs(frames.prepared_inputs(self._preparation, X))
        shape = inputs.shape[1:]
        if shape != self._input_shape and max(len(shape), len(self._input_shape)) > 1:
            raise InputError(
                f"X has rows of shape {shape}, but fit saw {self._input_shape}. "
                "Pass inputs of the same shape."
            )
        if self._preparation is None:
            try:  # scikit-learn's own words on features and their names
                validate_data(self, X=X, skip_check_array=True, reset=False)
            except (TypeError, ValueError) as error:
                raise InputError(f"{error} Pass the columns that fit saw.") from None
        return inputs

    def _remember_columns(self, X: Any) -> None:
        """How many features there are, and their names where all of them are texts."""
        try:
            validate_data(self, X=X, skip_check_array=True)
        except (TypeError, ValueError) as error:  # scikit-learn's own words
            raise InputError(f"{error} Rename the columns of X.") from None

    def _input_names(self) -> list[str] | None:
        """What the columns of the inputs are called, once prepared; None without names."""
        if self._preparation is not None:
            return list(self._preparation.features)
        given = getattr(self, "feature_names_in_", None)
        return None if given is None else [str(name) for name in given]

    def _check_query(
        self, X: Any, sample_domain: Any, *, warn: bool = False
    ) -> tuple[NDArray, Names]:
        """Rows behind the gate and their domains' names; of rows on disk, some."""
        inputs, names = self._bounded_query(X, sample_domain, warn=warn)
        return self._features(inputs), names

    def _bounded_query(
        self, X: Any, sample_domain: Any, *, warn: bool = False
    ) -> tuple[NDArray, Names]:
        """The same before a backbone, perhaps with a warning without names."""
        if is_beyond_memory(X, sample_domain):
            rows = streaming.rows_beyond_memory(self, X, sample_domain)
            X, sampled = rows.sample()
            sample_domain = None if rows.nameless else sampled
        given = frames.take_named(FitArguments(X, None, sample_domain), domain=self._domain_column)
        inputs, names, sample_domain = self._read_rows(given.X), None, given.sample_domain
        if sample_domain is not None:
            names = check_domain_names(sample_domain, len(inputs))
            warn_of_look_alikes(names, self.domains_)
        elif warn:
            frames.warn_without_domain()
        return self._within(inputs, names), names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "domains_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._known_task() == "classification":
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        elif self._known_task() == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = True
        return tags


def check_task(task: Any) -> Task | None:
    """The `task` parameter of an estimator that serves both; None for "auto"."""
    if task == "auto":
        return None
    if task not in get_args(Task):
        raise InputError(f"task is {task!r}. Choose 'auto', 'classification' or 'regression'.")
    return task
