"""What classifier and regressor share: map, candidates, validation, committee, forecast."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Floats
from domindex.committee import building, words
from domindex.committee.building import CommitteeBuilder
from domindex.committee.candidates import (
    BOOSTERS,
    ENCODED,
    NETWORK,
    check_boosters,
    check_representation,
    list_candidates,
)
from domindex.committee.committee import (
    Committee,
    Forecaster,
    Prediction,
    forecast_table,
)
from domindex.committee.context import FitContext, Workers, one_thread
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.learners.base import PREDICTORS
from domindex.committee.learners.estimators import learner_for
from domindex.committee.record import FitRecord
from domindex.committee.settings import ChoiceSettings
from domindex.committee.suggestions import MAX_ASKED, suggest_rows
from domindex.errors import InputError
from domindex.estimators.base import Names
from domindex.estimators.cost import FitSize, estimate_seconds, in_words, machine_speed
from domindex.estimators.fitted import warn_of_collapse
from domindex.estimators.frames import (
    FitArguments,
    hidden_labels,
    is_beyond_memory,
    take_named,
    warn_beyond_experience,
    warn_off_map,
)
from domindex.estimators.indexer import IndexingEstimator
from domindex.estimators.streaming import streams
from domindex.export.program import CommitteeProgram, build_program
from domindex.geometry import DomainIndex
from domindex.geometry.distances import distances_to_sources
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.neighbors import nearest_points
from domindex.geometry.transfer_map import TransferMap
from domindex.inputs import DomainData
from domindex.inputs.domain_data import Task
from domindex.inputs.messages import preview
from domindex.inputs.numbers import require_finite_table
from domindex.inputs.parameters import require_texts
from domindex.neural.settings import Training
from domindex.progress import Progress
from domindex.representations import PlacedRows
from domindex.representations.base import REPRESENTATIONS, DomainRows
from domindex.vdi.settings import Network

if TYPE_CHECKING:
    from typing_extensions import Self


class CrossDomainModel(IndexingEstimator):
    """A map of the domains, and a committee validated along it, behind scikit-learn's interface."""

    _task: ClassVar[Task]
    _forecast_column: ClassVar[str]
    _parts: ClassVar[dict[str, Any]] = {
        **IndexingEstimator._parts,
        "committee": Committee,
        "forecaster": Forecaster,
        "transfer_map": TransferMap,
    }
    _tables: ClassVar[tuple[str, ...]] = ("timings", "forecast", "candidates", "history")
    _reads_target_labels: ClassVar[bool] = True

    _committee: Committee
    _forecaster: Forecaster
    _at: Any = None  # in a copy that predicts once: the place that was given
    _transfer_map: TransferMap | None = None  # of tables; other maps are shown as they were drawn
    candidates_: pd.DataFrame
    forecast_: pd.DataFrame

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
        backbone: Any = None,
        network: Network | None = None,
        training: Training | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.inputs, self.backbone = inputs, backbone
        self.index_dim, self.local_dim, self.flow = index_dim, local_dim, flow
        self.representation, self.predictor = representation, predictor
        self.candidates, self.effort = candidates, effort
        self.network, self.training = network, training
        self.n_jobs, self.verbose, self.random_state = n_jobs, verbose, random_state

    @streams
    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """What predictions are made from, (rows, size): the encoding z where a network predicts.

        Examples
        --------
        >>> model.encode(data.X, **rows).shape[0]
        100
        """
        rows = self._indices.placed(*self._check_query(X, sample_domain))
        return self._committee.encode(rows, self._indices)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
        sample_weight: Any = None,
        order: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> Self:
        """Learn from all inputs and the sources' labels.

        Parameters
        ----------
        X : array, data frame, which may hold texts and gaps, or tensor, (rows, features) or
            (rows, ...) for images. Of any size, and learned from by a sample: a memory-mapped
            array; a torch `Dataset` of (x, y, domain); a pyarrow dataset or reader, a LazyFrame or
            a Dask frame, of which `y` and `sample_domain` name columns, and all others are inputs
        y : labels, one per row, or the name of a column. In targets a label may be known of fewer
            than half of the rows, NaN or None in the others: these sharpen what is predicted and
            forecast there. Those of targets with more are never read
        sample_domain : a domain name per row, or the name of a column of a data frame
        source_domains : names of the labelled domains; None where `sample_domain` holds integers,
            negative for targets, or where labels of targets are NaN or None: then domains are
            sources that have labels in half of their rows or more
        sample_weight : how much each row counts in learning; not read in rows of targets
        order : in place of names: numbers or dates, or the name of a column that holds them.
            Domains are then windows along it, `discovered_domains_`; those with labels are sources
        checkpoint : a folder for what is finished of the fit; the same fit with the same folder
            goes on where it was cut off. It stays there until you remove it
        columns : what to do to columns of a data frame, as options of `domindex fit`: "features",
            "exclude", "keep_columns" and "categorical" with lists of names, "dates", "missing"

        Examples
        --------
        >>> model.domains_, model.source_domains_
        ([0, 1, 2, 3, 4], [0, 1, 2])
        """
        roles = (sample_domain, source_domains, sample_weight)
        given = FitArguments(X, y, *roles, columns=columns)
        return self._fit_along(given, order, checkpoint)

    def _fit_data(self, data: DomainData) -> None:
        """Map, candidates, validation, weights, members: the story of a fit."""
        with self._fit_context(data) as context:
            indices, geometry = self._map_domains(data, context)
            builder = self._committee_builder(data, geometry, indices, context)
            trials = builder.validate_first_round()
            weighing = builder.weigh(trials)
            more = builder.validate_second_round(weighing)
            if more:
                weighing = builder.weigh([*trials, *more])
            built = builder.fit_members(weighing)
        self._set_attributes(built, builder)

    @streams
    def predict(self, X: Any, *, sample_domain: Any = None, at: Any = None, **how: Any) -> Any:
        """The likeliest class, or the expected values, of every row; deterministic.

        Domains never seen are placed by their rows; without names all rows are one, with a warning.

        Parameters
        ----------
        X : whatever `fit` takes
        sample_domain : a domain name per row, or the name of a column of a data frame
        at : where the rows lie on the map, in place of a domain that rows tell: coordinates
            (index_dim,) of all, (rows, index_dim) of each, or a mapping from the names in
            `sample_domain`; of a fit with `order`, a value of it or one per row. Each row is then
            predicted by itself, by those members that need the place of a domain and none of its
            rows
        **how : `return_std=True` gives values with their deviations

        Examples
        --------
        >>> model.predict(data.X, **rows).shape
        (100,)
        >>> model.predict(data.X[:1], at=model.domain_indices_[4]).shape
        (1,)
        """
        located = self._located(at)
        return super(CrossDomainModel, located).predict(X, sample_domain=sample_domain, **how)

    @available_if(lambda self: self._known_task() != "regression")
    @streams
    def predict_proba(self, X: Any, *, sample_domain: Any = None, at: Any = None) -> Floats:
        """Probabilities (rows, classes), in the order of `classes_`; as `predict`.

        Examples
        --------
        >>> model.predict_proba(data.X, **rows).shape
        (100, 2)
        """
        located = self._located(at)
        return super(CrossDomainModel, located).predict_proba(X, sample_domain=sample_domain)

    def _located(self, at: Any) -> Self:
        """A copy that predicts at a place; this one where none is given."""
        if at is None:
            return self
        located = copy(self)
        located._at = at
        return located

    def summary(self) -> str:
        """What was chosen and why, and what to expect, in words.

        Examples
        --------
        >>> model.summary().splitlines()[0]
        'Predictions: linear on raw inputs 100 %.'
        """
        check_is_fitted(self)
        lines = [f"Predictions: {words.describe_committee(self.candidates_)}."]
        lines += words.describe_left_out(self.candidates_)
        lines += self._said_of_map()
        transfer = self._transfer_map
        if transfer is not None and transfer.source_correlation is not None:
            found = transfer.source_correlation, transfer.n_compared
            lines.append(words.describe_transfer(*found))
        one_source = len(self.source_domains_) == 1
        forecast = words.describe_forecast(self.forecast_, self._forecast_column, one_source)
        if len(self.source_domains_) == len(self.domains_):
            return "\n".join([*lines, *words.describe_held_out(self.held_out_)])
        forecast += words.describe_target_labels(self._committee.target_labels)
        doubts = words.describe_beyond(self.forecast_) + words.describe_two_ways(self.forecast_)
        return "\n".join([*lines, *forecast, *doubts])

    def suggest_labels(
        self, X: Any, n: int = 20, *, sample_domain: Any = None, y: Any = None
    ) -> pd.DataFrame:
        """Of which rows of targets to ask labels next: those that say most about other rows.

        Domains where much is expected to be wrong, in many rows, have more of them. Within a domain
        they are uncertain, like many others, and apart from each other and from those with labels.

        Parameters
        ----------
        X : rows of targets or of new domains, as in `predict`; those of sources are passed over
        n : how many rows, at most 1,000
        sample_domain : a domain name per row, or the name of a column of a data frame
        y : labels as in `fit`; rows that have one are not suggested

        Returns
        -------
        A row a suggestion, what says most first. Columns: row (its number in X), domain, reason

        Examples
        --------
        >>> found = model.suggest_labels(data.X, 3, **rows)
        >>> found.columns.tolist(), bool(found["domain"].isin([3, 4]).all())
        (['row', 'domain', 'reason'], True)
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 < n <= MAX_ASKED:
            raise InputError(
                f"n is {n!r:.40}. Ask for 1 to {MAX_ASKED:,} rows; label them, fit, and ask again."
            )
        if is_beyond_memory(X, sample_domain):
            raise InputError(
                f"X is a {type(X).__name__}, which is read in parts. Pass rows in memory: some "
                "thousand of every target are enough."
            )
        given = FitArguments(X, y, sample_domain)
        given = take_named(given, self._target_column, self._domain_column)
        inputs, names = self._check_query(given.X, given.sample_domain, warn=True)
        has_label = np.zeros(len(inputs), dtype=bool)
        if given.y is not None:
            has_label = ~hidden_labels(given.y, len(inputs))
        rows, sources = self._indices.placed(inputs, names), set(self.source_domains_)
        asked = [one for one in rows.domains if one.name not in sources]
        n_open = sum(int((~has_label[one.rows]).sum()) for one in asked)
        if n > n_open:
            raise InputError(
                f"n is {n}, and {n_open} rows without a label are there, in {len(asked)} domains "
                "that are no sources. Ask for as many at most, or pass more rows of targets."
            )
        rows = rows.only({one.name for one in asked})
        said = self._committee.predict(rows, self._indices)
        forecast = self._forecast(rows, self._flag(rows)).set_index("domain")
        table = suggest_rows(
            rows,
            [one.rows for one in asked],
            has_label,
            said.mean if said.deviation is None else said.deviation,
            forecast[self._forecast_column],
            self._indices.scaler.apply_flat(rows.inputs),
            self.classes_.tolist() if self.task_ == "classification" else None,
            int(n),
        )
        return pd.DataFrame(table).astype({"domain": object})

    @property
    def held_out_(self) -> pd.DataFrame:
        """How well each source was predicted by what had not seen its labels: a row a source.

        Columns: domain; accuracy, or error (root mean squared, as in `forecast_`); and plain, the
        same of the best plain model. A little too good: weights were chosen on the same rows.

        Examples
        --------
        >>> model.held_out_.columns.tolist()
        ['domain', 'accuracy', 'plain']
        """
        check_is_fitted(self)
        record = None if self._record is None else self._record.held_out
        if record is None:
            raise InputError("The model was saved by a version that kept no scores. Fit it again.")
        names = [self.domains_[number] for number in record.domains]
        scores = {self._forecast_column.removeprefix("expected_"): record.scores}
        found = {"domain": pd.Series(names, dtype=object), **scores, "plain": record.plain_scores}
        return pd.DataFrame(found)

    def _choices(self, data: DomainData) -> ChoiceSettings:
        """Without targets each source is held out by itself, of many some together."""
        choices, n_domains, max_folds = super()._choices(data), data.n_domains, 10
        if not data.is_source.all():
            return choices
        return replace(choices, near_folds=max(choices.near_folds, min(n_domains, max_folds)))

    def _announce_cost(self, data: DomainData, progress: Progress) -> None:
        """About how long it will take, where somebody looks on and it is long."""
        if not self.verbose or self._names_candidates:
            return
        seconds = estimate_seconds(FitSize.of(data), self.effort, machine_speed())
        if seconds >= 10.0:  # less is over before it is read
            progress.say(f"This will take {in_words(seconds)} or so.")

    def _committee_builder(
        self,
        data: DomainData,
        geometry: DomainGeometry,
        indices: FittedIndices,
        context: FitContext,
    ) -> CommitteeBuilder:
        """The candidates, asked for or of use, and what they are compared on."""
        candidates = list_candidates(
            self.candidates,
            self.representation,
            self.predictor,
            data,
            geometry,
            context.choices,
            has_backbone=context.backbone is not None,
        )
        workers = Workers(self.n_jobs, context.n_threads)
        return CommitteeBuilder(
            candidates,
            data,
            geometry,
            indices,
            context,
            workers,
            requested=self._names_candidates,
            quick=self.effort == "quick",
            columns=self._names_of_inputs(data),
        )

    def _names_of_inputs(self, data: DomainData) -> list[Hashable]:
        """Of the columns, as they stand in the data; of what is no table none."""
        names = None if data.layout.is_grid else self._column_names(data)
        if names is None or data.columns is None:
            return names or []
        return [names[number] for number in data.columns]

    def _set_attributes(self, built: building.BuiltCommittee, builder: CommitteeBuilder) -> None:
        """What a user can read of the fit: the choice, the forecast, the record."""
        data, geometry, context = builder.data, builder.geometry, builder.context
        with context.timings.stage("forecasting"):
            self._transfer_map = None
            self._set_map(data, geometry, builder.indices)
            self._forecaster = built.forecaster
            self._committee = built.committee
            self._transfer_map = self._draw_transfer_map(data, geometry)
            self._show_map()
            self.candidates_ = built.table
            self.history_ = context.history.to_frame()
            self.representation_, self.flow_ = building.chosen_flow(built, geometry)
            self.grid_flow_ = building.grid_flow_facts(built.committee)
            rows = PlacedRows.of_map(data, geometry.domain_map)
            targets = data.target_domains  # without any, a table of no rows
            self.forecast_ = self._forecast(rows.only(set(targets or data.domains[:1])))
            self.forecast_ = self._in_spacings(self.forecast_.head(len(targets)))
            network, some = built.committee.network, {one.name for one in rows.domains[:3]}
            z = None  # constant z is so in any three domains
            if network is not None:
                z = network.represent(rows.only(some), self._indices).features
            warn_of_collapse(self.domain_indices_, z)
        with context.timings.stage("explaining"), one_thread():
            given = built.held_out, built.explained, data, self._column_names(data)
            self._record = FitRecord.of(*given, context.seed, builder.workers)
        self.timings_ = context.timings.table()

    def _may_move_columns(self) -> bool:
        """Not where a learner or a representation of the user's own is tried."""
        named: Any = self.candidates if self._names_candidates else ()
        asked = [self.predictor, *(learner for _, learner in named)]
        known = [*REPRESENTATIONS.values(), *map(type, PREDICTORS.values())]
        are_ours = all(kind.__module__.startswith("domindex.") for kind in known)
        return super()._may_move_columns() and are_ours and all(isinstance(p, str) for p in asked)

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        if self._transfer_map is not None:
            self._transfer_map = self._transfer_map.in_order(names)
        super()._put_in_order(names)
        place = {name: number for number, name in enumerate(names)}
        order = np.argsort([place[name] for name in self.forecast_["domain"]])
        self.forecast_ = self.forecast_.iloc[order].reset_index(drop=True)

    def _forecast(self, rows: PlacedRows, off_map: Sequence[Hashable | None] = ()) -> pd.DataFrame:
        table = forecast_table(
            self._committee, self._forecaster, rows, self._indices, self.source_domains_, off_map
        )
        if self._transfer_map is not None:  # as the map that is shown has it
            numbers = [self.domain_index_.domains.index(name) for name in self.source_domains_]
            goals = self.domain_indices_[numbers]
            order, gaps = nearest_points(self._places_to_show(rows)[0], 1, goals)
            nearest = [self.source_domains_[number] for number in order[:, 0]]
            table["nearest"] = pd.Series(nearest, dtype=object)
            table["distance"] = gaps[:, 0]
        return require_finite_table(table, "What to expect")

    def _draw_transfer_map(self, data: DomainData, geometry: DomainGeometry) -> TransferMap | None:
        """Of tables whose columns have units of their own, where sources have labels and others
        have what the committee predicts; elsewhere the map of the inputs is right as it is."""
        closes, one_unit = geometry.domain_map.loop is not None, not np.ptp(geometry.scaler.scale)
        if closes or one_unit or data.layout.is_grid:
            return None
        rows = PlacedRows.of_map(data, geometry.domain_map)
        known = data.labels if data.classes is None else np.eye(len(data.classes))[data.labels]
        features = rows.features
        clouds = [features[one.rows] for one in rows.domains]
        labels = [known[one.rows] for one in rows.domains]
        if data.target_domains:
            said = iter(self._described(rows.only(set(data.target_domains)))[1])
            labels = [one if k else next(said) for one, k in zip(labels, data.is_source)]
        clouds, labels = (
            [one[part] for one, part in zip(given, geometry.map_rows)] for given in (clouds, labels)
        )
        landmarks = geometry.domain_map.index.landmarks
        how = self.index_dim, landmarks, data.is_source
        return TransferMap.fit(data.domains, clouds, labels, *how)

    def _map_to_show(self) -> tuple[DomainIndex, Floats]:
        transfer = self._transfer_map
        if transfer is None:
            return super()._map_to_show()
        return transfer.index, transfer.deviations(transfer.sizes)

    def _places_to_show(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        transfer = self._transfer_map
        if transfer is None:
            return super()._places_to_show(rows)
        numbers = {name: number for number, name in enumerate(transfer.domains)}
        new = [one.name for one in rows.domains if one.name not in numbers]
        places = dict(zip(new, transfer.locate(*self._described(rows.only(set(new))))))
        known = {name: transfer.positions[number] for name, number in numbers.items()}
        at = np.stack([(known | places)[one.name] for one in rows.domains])
        own = [numbers.get(one.name, -1) for one in rows.domains]
        n_rows = [len(one.rows) for one in rows.domains]
        sizes = np.where(np.array(own) < 0, n_rows, transfer.sizes[own])
        return transfer.shown(at), transfer.deviations(sizes)

    def _deviations_at(self, points: Floats) -> Floats:
        transfer = self._transfer_map
        if transfer is None:
            return super()._deviations_at(points)
        return np.tile(transfer.deviations(np.array([np.median(transfer.sizes)])), (len(points), 1))

    def _described(self, rows: PlacedRows) -> tuple[list[Floats], list[Floats]]:
        """The inputs of each domain, and what the committee predicts of them."""
        if not rows.domains:
            return [], []
        features, said = rows.features, self._committee.predict(rows, self._indices).mean
        groups = [one.rows for one in rows.domains]
        return [features[own] for own in groups], [said[own] for own in groups]

    def _in_spacings(self, forecast: pd.DataFrame) -> pd.DataFrame:
        """A table of forecasts, with distances to the nearest source in the unit of the map's."""
        if not len(forecast):
            return forecast
        away = distances_to_sources(self.domain_index_, self.source_domains_)
        by_name = dict(zip(self.domain_index_.domains, away.tolist()))
        return forecast.assign(distance=[by_name[name] for name in forecast["domain"]])

    def _grow(self, rows: PlacedRows, flagged: list[Hashable | None]) -> None:
        if self._transfer_map is not None:
            names = [one.name for one in rows.domains]
            self._transfer_map = self._transfer_map.with_domains(names, *self._described(rows))
            self._show_map()
        self._committee = self._committee.with_domains(rows, self._indices)
        expected = self._forecast(rows, flagged)
        together = pd.concat([self.forecast_, expected], ignore_index=True)
        self.forecast_ = self._in_spacings(together)

    def _predict(self, inputs: NDArray, names: Names) -> Prediction:
        if self._at is not None:
            return self._predict_at(inputs, names)
        rows = self._indices.placed(inputs, names)
        off_map = self._flag(rows)
        warn_off_map(off_map)
        reasons = self._beyond_experience(rows)
        warn_beyond_experience({name: why for name, why in reasons.items() if name not in off_map})
        return self._committee.predict(rows, self._indices)

    def _beyond_experience(self, rows: PlacedRows) -> dict[Hashable | None, str]:
        """Why domains are beyond it, by name: known ones as the forecast says, new ones by their
        rows."""
        experience, known = self._forecaster.experience, set(self.domains_)
        if experience is None or "reason" not in self.forecast_:
            return {}
        said = dict(zip(self.forecast_["domain"], self.forecast_["reason"]))
        reasons = {
            name: said.get(name, "")
            if name in known
            else experience.judge(name, rows.inputs[members]).reason
            for name, members, _ in rows.domains
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def _check_query(
        self, X: Any, sample_domain: Any, *, warn: bool = False
    ) -> tuple[NDArray, Names]:
        return super()._check_query(X, sample_domain, warn=warn and self._at is None)

    def _predict_at(self, inputs: NDArray, names: Names) -> Prediction:
        """Of rows whose places are given."""
        committee, index = self._committee.by_place(), self._indices.domain_map.index
        if committee is None or index.angles is not None:
            what = "every member of the committee measures rows of a domain"
            if committee is not None:
                what = "the map closes, and a place on it does not say which way round"
            raise InputError(
                f"at= names places on the map, and {what}. Leave at= out and pass the domain's "
                "rows, or fit with candidates that follow the map: "
                "[('flow', 'linear'), ('with_index', 'linear')]."
            )
        places = self._given_places(len(inputs), names)
        known, numbers = np.unique(places, axis=0, return_inverse=True)
        numbers = numbers.reshape(-1)
        pairs = [(n, np.flatnonzero(numbers == n), place) for n, place in enumerate(known)]
        domains = tuple(DomainRows(("at", n), rows, place) for n, rows, place in pairs)
        return committee.predict(PlacedRows(inputs, domains), self._indices)

    def _given_places(self, n_rows: int, names: Names) -> Floats:
        """(rows, index_dim) from what `at` names."""
        given, size = self._at, self._indices.domain_map.coordinates.shape[1]
        if isinstance(given, Mapping):
            absent = [name for name in dict.fromkeys(names or [None]) if name not in given]
            if absent:
                raise InputError(
                    f"at= has no place for {preview(absent)}. Give one for every domain in "
                    "sample_domain."
                )
            given = [given[name] for name in names or [None] * n_rows]
        elif self._windows is not None and np.ndim(given) < 2:
            in_time = self._places_in_order(given, self._indices.domain_map.index)
            if len(in_time) not in (1, n_rows):
                raise InputError(
                    f"at= has {len(in_time)} values of the order for {n_rows} rows. Pass one for "
                    "all, or one per row."
                )
            return np.broadcast_to(in_time, (n_rows, size))
        try:
            places = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            places = np.empty(0)
        if places.shape not in ((size,), (n_rows, size)) or not np.isfinite(places).all():
            raise InputError(
                f"at= is {self._at!r:.80}. Pass {size} finite coordinates as in domain_indices_, "
                f"or a row of them for each of the {n_rows} rows."
            )
        if self._transfer_map is not None:
            places = self._behind(self._transfer_map, np.atleast_2d(places))
        return np.broadcast_to(places, (n_rows, size))

    def _behind(self, transfer: TransferMap, shown: Floats) -> Floats:
        """Places on the map of the inputs, which members read, for places on the one that is shown:
        means of known domains by inverse squared distance, so exact where one of them lies."""
        squares = cdist(shown, transfer.shown(transfer.positions), "sqeuclidean")
        nearest = squares.min(axis=1, keepdims=True)
        is_there = squares <= 1e-18
        nearer = nearest / np.where(is_there, 1.0, squares)
        weights = np.where(is_there.any(axis=1, keepdims=True), is_there, nearer)
        weights = weights / weights.sum(axis=1, keepdims=True)
        return weights @ self._indices.domain_map.coordinates

    def _open_domains(self, present: Iterable[Hashable]) -> list[Hashable]:
        """New domains; where shares of classes are followed, sources as well."""
        shift = self._committee.label_shift
        known = set(self.domains_) if shift is None else set(shift.domains)
        return [name for name in present if name not in known]

    def _settled(self, X: Any, names: list[Hashable]) -> Self:
        """A copy that knows these new domains, and the shares of classes in these sources."""
        known = set(self.domains_)
        is_new = np.array([name not in known for name in names])
        new, old = ([name for name, one in zip(names, is_new) if one == side] for side in (1, 0))
        settled = self.add_domains(X[is_new], sample_domain=new) if new else copy(self)
        committee = settled._committee
        if old and committee.label_shift is not None:
            rows = self._indices.placed(self._check_query(X[~is_new], old)[0], old)
            plain = replace(committee, label_shift=None).predict(rows, settled._indices).mean
            shares = committee.label_shift.with_domains(plain, rows)
            settled._committee = replace(committee, label_shift=shares)
        return settled

    def _program(self) -> CommitteeProgram:
        given = self._committee, self._indices, self._extractor, self._bounds, self._columns
        return build_program(*given)

    def state(self) -> dict[str, Any]:
        """The fitted model: plain values and arrays, nested.

        Examples
        --------
        >>> "committee" in model.state()
        True
        """
        return {
            **super().state(),
            "representation": self.representation_,
            "flow": self.flow_,
            "grid_flow": self.grid_flow_,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self.representation_ = str(state["representation"])
        self.flow_, self.grid_flow_ = state["flow"], state.get("grid_flow")
        transfer, n_features = self._transfer_map, len(self._indices.scaler.offset)
        if transfer is not None and transfer.quantiles.shape[1] != n_features:
            raise ValueError("the columns of the map do not fit the inputs")
        if transfer is not None and transfer.domains != self._indices.domain_map.index.domains:
            raise ValueError("the map that is shown has other domains")
        # as it was called up to 0.1
        self.candidates_ = self.candidates_.rename(columns={"price": "penalty"})
        words.describe_committee(self.candidates_)  # KeyError where its columns are damaged
        words.describe_left_out(self.candidates_)

    def _task_to_fit(self) -> Task:
        return self._task

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_texts(self, "representation")
        if not (isinstance(self.flow, str) and self.flow == "auto"):
            raise InputError(
                f"flow is {self.flow!r:.60}. Choose 'auto'; for the paper's model use "
                "VDIClassifier or VDIRegressor."
            )
        if self.candidates is not None:
            self._check_candidates()
        else:
            self._check_pair(self.representation, self.predictor)

    def _check_pair(self, representation: str, predictor: Any, *, auto: bool = True) -> None:
        """A representation by name and a predictor; "auto" where that is allowed."""
        is_name = isinstance(predictor, str)
        if not (auto and representation == "auto"):
            check_representation(representation)
        if representation == ENCODED and is_name and predictor == NETWORK:
            raise InputError(
                "The network is asked for on what the network encodes. Choose another predictor "
                "for 'encoded', or another representation for the network."
            )
        if not (is_name and predictor in ("auto", NETWORK)):
            learner_for(predictor, self._task)

    @property
    def _names_candidates(self) -> bool:
        """Whether the user named each of them: then none is passed over, and none is added."""
        return self.candidates is not None and not isinstance(self.candidates, str)

    def _check_candidates(self) -> None:
        given = self.candidates
        if (self.representation, self.predictor) != ("auto", "auto"):
            raise InputError(
                "candidates is given, and representation or predictor too. Give one or the other."
            )
        if isinstance(given, str) and given == BOOSTERS:
            check_boosters()
            return
        pairs = list(given) if isinstance(given, list | tuple) else []
        if not pairs or not all(isinstance(one, list | tuple) and len(one) == 2 for one in pairs):
            raise InputError(
                f"candidates is {given!r:.80}. Pass a list of pairs (representation, predictor), "
                "such as [('raw', 'boosting'), ('domain_standardised', 'linear')], or "
                f"{BOOSTERS!r}."
            )
        for representation, predictor in pairs:
            self._check_pair(representation, predictor, auto=False)
        if sum(isinstance(one, str) and one == NETWORK for _, one in pairs) > 1:
            raise InputError("candidates names the network twice. Name it once.")
