"""What a fitted model with a map holds: places of domains, how it is saved, and what it shows."""

from __future__ import annotations

import json
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Floats
from domindex.committee.committee import Prediction
from domindex.committee.context import fit_facts
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.record import FitRecord, column_groups
from domindex.errors import CollapseWarning, InputError, OffMapWarning
from domindex.estimators.base import DomainEstimator, Names
from domindex.estimators.contributions import shapley_values
from domindex.estimators.frames import warn_off_map
from domindex.estimators.streaming import streams
from domindex.export.exporting import Source, export_predictor
from domindex.export.program import Program
from domindex.geometry import DomainIndex, domain_graph
from domindex.geometry.domain_map import LandmarkError
from domindex.geometry.neighbors import nearest_points
from domindex.geometry.off_map import OffMapTest
from domindex.geometry.scaling import reordering
from domindex.inputs import DomainData, order_names
from domindex.inputs.bounds import InputBounds
from domindex.inputs.columns import InputChanges
from domindex.inputs.gate import class_array
from domindex.inputs.messages import frames_inside, preview
from domindex.inputs.numbers import require_finite_table
from domindex.inputs.preparation import PreparedInputs, TablePreparation
from domindex.neural.backbones import OWN, Backbone, FeatureExtractor, as_backbone
from domindex.neural.settings import Training
from domindex.persistence.codec import table_from_state, table_state
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.model_folder import save_model
from domindex.representations import PlacedRows
from domindex.vdi.settings import Network

if TYPE_CHECKING:
    from typing_extensions import Self


def _reporting(module: str) -> Any:
    """Figures, pages and words, which stand above the estimators: looked up when called for."""
    return import_module(f"domindex.reporting.{module}")


class MappedEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DomainEstimator):
    """An estimator that infers an index of every row and a map of the domains.

    A subclass hands what it inferred to `_set_fitted`, sets `_off_map_test` and `_record`, and
    names what else it saves in `_parts` and `_tables`.
    """

    # of a fitted model, as attributes after an underscore; the first two and the last may be None
    _parts: ClassVar[dict[str, Any]] = {
        "extractor": FeatureExtractor,
        "bounds": InputBounds,
        "indices": FittedIndices,
        "off_map_test": OffMapTest,
        "record": FitRecord,
    }
    _tables: ClassVar[tuple[str, ...]] = ("timings", "history")  # attributes before an underscore
    _forecast_column: ClassVar[str | None] = None  # what it forecasts of a domain, if anything

    _indices: FittedIndices
    _off_map_test: OffMapTest
    _record: FitRecord | None = None  # models of before there was one have none
    history_: pd.DataFrame
    timings_: pd.DataFrame

    def _set_fitted(self, indices: FittedIndices) -> None:
        self._indices = indices
        self.off_map_domains_: list[Hashable] = []
        self._show_map()
        self._n_features_out = indices.local_dim
        index = indices.domain_map.index
        self.added_domains_ = list(index.domains[indices.domain_map.n_fitted :])
        landmarks = None if index.landmarks is None else [index.domains[n] for n in index.landmarks]
        self.landmark_domains_ = landmarks

    def _put_in_order(self, names: tuple[Hashable, ...]) -> None:
        domain_map = self._indices.domain_map
        if self._record is not None:
            self._record = self._record.in_order(reordering(domain_map.index.domains, names)[0])
        self._set_fitted(replace(self._indices, domain_map=domain_map.in_order(names)))
        super()._put_in_order(names)

    def _show_map(self) -> None:
        self.domain_index_, self.domain_index_std_ = self._map_to_show()
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_angles_ = self.domain_index_.angles

    def _map_to_show(self) -> tuple[DomainIndex, Floats]:
        """The map that users see, and its deviations, (domains, index_dim)."""
        return self._indices.index()

    def _places_to_show(self, rows: PlacedRows) -> tuple[Floats, Floats]:
        """Where the domains of these rows lie on that map, with deviations."""
        return self._indices.index_at(np.stack([domain.place for domain in rows.domains]))

    def _deviations_at(self, points: Floats) -> Floats:
        """At points of that map, (points, index_dim)."""
        return self._indices.deviations(points)

    @property
    def domain_distances_(self) -> Floats:
        """(domains, domains), the transport distances between the domains' local indices.

        Of more than 500 domains (domains, landmarks), in the order of `landmark_domains_`.

        Examples
        --------
        >>> model.domain_distances_.shape
        (5, 5)
        """
        return self._indices.domain_map.all_transport

    @property
    def landmark_error_(self) -> LandmarkError | None:
        """How well the map follows exact distances on random pairs; None without landmarks.

        Examples
        --------
        >>> model.landmark_error_ is None
        True
        """
        return self._indices.domain_map.landmark_error

    @streams
    def transform(self, X: Any) -> Floats:
        """The local index u of every row, (rows, local_dim): needs no domain.

        Examples
        --------
        >>> model.transform(data.X).shape[0]
        100
        """
        return self._indices.local_indices(self._check_rows(X))

    def place_domains(
        self, X: Any, *, sample_domain: Any = None, forecast: bool = True
    ) -> pd.DataFrame:
        """Where the domains of these rows lie on the map, known or new: a row a domain.

        The model does not change. Without `sample_domain` all rows are one new domain, named None.

        Columns: domain, rows, index_1, … (coordinates), std_1, … (their uncertainty), angle (around
        the ring, where the map closes), nearest_1, distance_1, … (the nearest known domains and
        their distances on the map), off_map and off_map_score (above 1 a domain is further from the
        family than 95 % of known domains left out in turn; none with fewer than 4 known
        domains), and, where `forecast` and the model has forecasts, expected_accuracy or
        expected_error with low and high.

        Examples
        --------
        >>> new = data.X[:20] + [0.1, 0.0]  # rows of a domain that fit never saw
        >>> model.place_domains(new, sample_domain=["new"] * 20)["domain"].tolist()
        ['new']
        """
        rows = self._indices.placed(*self._check_query(X, sample_domain))
        scores, flagged = self._judge(rows)
        table = require_finite_table(self._placement_table(rows), "The place on the map")
        table["off_map"] = [domain.name in flagged for domain in rows.domains]
        if self._off_map_test.is_calibrated:
            table["off_map_score"] = scores
        if not forecast or self._forecast_column is None:
            return table
        expected = self._forecast(rows, flagged)[[self._forecast_column, "low", "high"]]
        return pd.concat([table, expected], axis=1)

    def forecast(self, X: Any, *, sample_domain: Any = None) -> pd.DataFrame:
        """What to expect of predictions in the domains of these rows: `forecast_` for any rows.

        Examples
        --------
        >>> model.forecast(data.X, **rows)["domain"].tolist()
        [0, 1, 2, 3, 4]
        """
        rows = self._indices.placed(*self._check_query(X, sample_domain))
        return self._forecast(rows, self._flag(rows))

    def _placement_table(self, rows: PlacedRows) -> pd.DataFrame:
        """A row a domain: its place and its nearest known domains, itself not among them."""
        known = self._indices.domain_map.index.domains
        names = [domain.name for domain in rows.domains]
        places, deviations = self._places_to_show(rows)
        columns: dict[str, Any] = {"domain": pd.Series(names, dtype=object)}
        columns["rows"] = [len(domain.rows) for domain in rows.domains]
        columns |= {f"index_{n}": axis for n, axis in enumerate(places.T, start=1)}
        columns |= {f"std_{n}": axis for n, axis in enumerate(deviations.T, start=1)}
        if rows.angles is not None:
            columns["angle"] = [rows.angles[name] for name in names]
        numbers = {name: number for number, name in enumerate(known)}
        own = np.array([numbers.get(name, -1) for name in names])
        n_nearest = min(3, len(known) - 1)
        order, gaps = nearest_points(places, n_nearest, self.domain_indices_, own)
        for rank, (nearest, away) in enumerate(zip(order.T, gaps.T), start=1):
            named = [known[number] for number in nearest]
            columns[f"nearest_{rank}"] = pd.Series(named, dtype=object)
            columns[f"distance_{rank}"] = away
        return pd.DataFrame(columns)

    def _judge(self, rows: PlacedRows) -> tuple[Floats, list[Hashable | None]]:
        """(domains,) how far each is from the family, and names of those off the map, above 1.

        Domains of the fit are never off the map, added ones as judged when they were added.
        """
        known, before = set(self._indices.domain_map.index.domains), set(self.off_map_domains_)
        names = tuple(domain.name for domain in rows.domains)
        scaled = self._indices.scaler.apply_flat(rows.inputs)
        scores = self._off_map_test.ratios([scaled[one.rows] for one in rows.domains], names)
        if self._off_map_test.is_calibrated:
            judged = pd.DataFrame({"domain": pd.Series(names, dtype=object), "score": scores})
            require_finite_table(judged, "How far domains are from the map")
        pairs = zip(names, scores)
        return scores, [n for n, score in pairs if (n in before if n in known else score > 1.0)]

    def _flag(self, rows: PlacedRows) -> list[Hashable | None]:
        """Names of those off the map; domains of the fit, which never are, cost nothing."""
        names = {domain.name for domain in rows.domains}
        new = names - set(self._indices.domain_map.index.domains)
        flagged: set[Hashable | None] = names & set(self.off_map_domains_)
        if new:
            flagged |= set(self._judge(rows if len(new) == len(names) else rows.only(new))[1])
        return [domain.name for domain in rows.domains if domain.name in flagged]

    def add_domains(self, X: Any, *, sample_domain: Any) -> Self:
        """A new fitted model that knows the domains of these rows too; this one stays as it is.

        Nothing is trained. The new domains get a place on the map, and whatever members hold of
        every domain is measured from their rows once and for all. Attributes include them, at the
        end. They do not move others, so the order of additions does not matter. Domains off the map
        are added with a warning; their names are in `off_map_domains_`.

        Examples
        --------
        >>> new = data.X[:20] + [0.1, 0.0]  # rows of a domain that fit never saw
        >>> model.add_domains(new, sample_domain=["new"] * 20).added_domains_
        ['new']
        """
        bounded, names = self._bounded_query(X, sample_domain)
        if names is None:
            raise InputError(
                "sample_domain is missing, and a domain needs a name to be added. Pass one domain "
                "name per row."
            )
        new, known = order_names(names), set(self.domains_)
        taken = [name for name in new if name in known]
        if taken:
            raise InputError(
                f"{preview(taken)} is already among the {len(known)} known domains. Leave rows of "
                "known domains out, give new rows another name, or fit anew to learn from them."
            )
        order_names([*self.domains_, *new])  # none is spelled like another
        inputs = self._features(bounded)
        indices = self._indices.with_domains(inputs, names)
        rows = indices.placed(inputs, names)
        flagged = self._flag(rows)
        grown = copy(self)
        grown._set_fitted(indices)
        grown.domains_ = list(indices.domain_map.index.domains)
        grown.source_domains_ = list(self.source_domains_)
        if self._bounds is not None:
            grown._bounds = self._bounds.with_domains(bounded, names)
        grown.off_map_domains_ = [*self.off_map_domains_, *flagged]
        for name in self._tables:
            setattr(grown, f"{name}_", getattr(self, f"{name}_").copy())
        grown._grow(rows, flagged)
        warn_off_map(flagged)
        return grown

    def _grow(self, rows: PlacedRows, flagged: list[Hashable | None]) -> None:
        """Learn what else is held of every domain, of those that were just added."""

    def _begin(self, data: DomainData) -> int:
        """The seed of a fit; a checkpoint learns which fit it belongs to."""
        seed = self._seed()
        if self._stages.folder is not None:
            self._stages.begin(fit_facts(self, data, seed))
        return seed

    @abstractmethod
    def _predict(self, inputs: NDArray, names: Names) -> Prediction:
        """Probabilities of checked rows, or means and deviations."""

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        return self._predict(inputs, names).mean

    def _settled(self, X: Any, names: list[Hashable]) -> Self:
        return self.add_domains(X, sample_domain=names)

    def _forecast(self, rows: PlacedRows, off_map: list[Hashable | None]) -> pd.DataFrame:
        """What to expect in the domains of these rows."""
        name = type(self).__name__
        raise InputError(
            f"{name} does not forecast: no source was held out while it was fitted. Use "
            f"{name.replace('VDI', 'CrossDomain')}, or compare with labels once there are some."
        )

    def _column_names(self, data: DomainData) -> list[Hashable] | None:
        """Of inputs that are columns of a table; None of others."""
        if self._extractor is not None or data.inputs.ndim != 2:
            return None
        numbered = [f"input {n + 1}" for n in range(data.inputs.shape[1])]
        return [*(self._input_names() or numbered)]

    def domain_graph(self, **rule: Any) -> nx.Graph:
        """The domains that are close on the map, as a NetworkX graph; as `geometry.domain_graph`.

        Examples
        --------
        >>> len(model.domain_graph(quantile=0.5).edges)
        5
        """
        check_is_fitted(self)
        return domain_graph(self.domain_index_, **rule)

    def index_deviations(self, coordinates: Any) -> Floats:
        """The uncertainty of the map at points of it, (points, index_dim) in and out: on that of
        a table of a domain with as many rows as the median one.

        Examples
        --------
        >>> model.index_deviations(model.domain_indices_[:2]).shape
        (2, 2)
        """
        check_is_fitted(self)
        return self._deviations_at(np.atleast_2d(np.asarray(coordinates, dtype=np.float64)))

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_domain: Any = None,
        **details: Any,
    ) -> Path:
        """Write the report as one HTML file, and return its path.

        Parameters
        ----------
        path : of the file; one that is there is replaced
        X : what the model was fitted on; without it there is no audit, and no column or picture
        y, sample_domain : as in `fit`; labels are read in source domains only
        **details : title, table, columns, budget and what else `reporting.report_data` takes

        Examples
        --------
        >>> model.report("report.html").name
        'report.html'
        """
        check_is_fitted(self)
        content = _reporting("building").report_data(self, X, y, sample_domain, **details)
        return cast(Path, _reporting("report").write_report(content, path))

    def plot_map(self, *, ax: Any = None, **details: Any) -> Any:
        """Draw the map with matplotlib, as `reporting.plot_domain_map` does, and return the Axes.

        Examples
        --------
        >>> model.plot_map().get_xlabel()
        'domain index 1'
        """
        check_is_fitted(self)
        return _reporting("map_figures").plot_domain_map(self, ax=ax, **details)

    def explain(
        self,
        X: Any,
        *,
        sample_domain: Any = None,
        background: Any = None,
        output: Any = None,
        n_draws: int = 16,
        random_state: int = 0,
    ) -> pd.DataFrame:
        """What the prediction of each row rests on: contributions of its columns, a row a row.

        Shapley values, by `n_draws` orders in which the columns of a row replace those of a row of
        the background; they add up to the prediction beside `baseline`. The domain of a row stays
        what it is. This says what the model uses, not what causes what.

        Parameters
        ----------
        X, sample_domain : the rows, as in `predict`
        background : rows to compare with, as X; None takes X itself
        output : the class whose probability is explained, or the number of the output; None takes
            the last of two classes, the likeliest class of each row, or the first output
        n_draws : more are slower, and surer
        random_state : seed of the draws

        Examples
        --------
        >>> found = model.explain(data.X[:3], sample_domain=data.sample_domain[:3], n_draws=2)
        >>> found.columns.tolist()
        ['input 1', 'input 2', 'baseline', 'prediction']
        """
        inputs, names = self._bounded_query(X, sample_domain, warn=True)
        if self._extractor is not None or inputs.ndim != 2:
            raise InputError(
                "Rows are pictures, signals or features of a backbone, which have no columns to "
                "explain a prediction by. explain() is for rows of a table."
            )
        whole = isinstance(n_draws, int) and not isinstance(n_draws, bool)
        if not whole or not 1 <= n_draws <= 10_000:
            raise InputError(f"n_draws is {n_draws!r:.40}. Choose a whole number of 1 or more.")
        others = inputs
        if background is not None:
            others = self._in_own_columns(self._check_rows(background))
        settled, known = self, set(self.domains_)
        names = [None] * len(inputs) if names is None else list(names)
        new = np.array([name not in known for name in names])
        if new.any():  # placed once, by the rows as they are
            shown = ["rows without a domain" if name is None else name for name in names]
            given = inputs[new] if self._preparation is None else self._as_prepared(inputs[new])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OffMapWarning)
                settled = self.add_domains(
                    given, sample_domain=[name for name, is_new in zip(shown, new) if is_new]
                )
            names = shown
        labels = [f"input {n + 1}" for n in range(inputs.shape[1])]
        groups = column_groups([str(name) for name in self._input_names() or labels])
        predicted = settled._predict_mean(settled._features(inputs), names)
        wanted = self._explained_output(predicted, output)
        rows = np.arange(len(inputs))

        def predict(changed: NDArray) -> Floats:
            said = settled._predict_mean(settled._features(changed), names)
            return np.asarray(said[rows, wanted], dtype=np.float64)

        drawn = np.random.default_rng(random_state)
        found, start = shapley_values(
            predict, inputs, others, [columns for _, columns in groups], n_draws, drawn
        )
        index = X.index if isinstance(X, pd.DataFrame) else None
        table = pd.DataFrame(found, columns=[name for name, _ in groups], index=index)
        return table.assign(baseline=start, prediction=start + found.sum(axis=1))

    def _explained_output(self, predicted: Floats, output: Any) -> NDArray[np.int64]:
        """(rows,) the number of the class or output whose prediction is explained."""
        n_outputs = predicted.shape[1]
        if self.task_ != "classification":
            number = 0 if output is None else output
            if not isinstance(number, int) or not 0 <= number < n_outputs:
                raise InputError(
                    f"output is {output!r:.40}; there are outputs 0 to {n_outputs - 1}."
                )
            return np.full(len(predicted), number)
        classes = self.classes_.tolist()
        if output is None:
            binary = np.full(len(predicted), 1)
            return binary if n_outputs == 2 else predicted.argmax(axis=1)
        if output not in classes:
            raise InputError(f"output is {output!r:.40}, and the classes are {preview(classes)}.")
        return np.full(len(predicted), classes.index(output))

    def _as_prepared(self, inputs: NDArray) -> PreparedInputs:
        return PreparedInputs(inputs, InputChanges())

    def explain_domain(self, name: Hashable) -> pd.DataFrame:
        """Why a domain lies where it does: a row a column of the inputs, largest difference first.

        Columns: column; from_neighbours and from_sources, how far its values lie from those of its
        neighbours on the map and of the sources, 0 alike to 1 nothing in common; chance, what so
        few rows would differ by without any reason; typical, neighbours_typical and
        sources_typical, the range that holds the median of each. Empty where rows are no table, or
        the domain was added after the fit or has fewer than 5 rows.

        Examples
        --------
        >>> model.explain_domain(4).columns[:3].tolist()
        ['column', 'from_neighbours', 'from_sources']
        """
        check_is_fitted(self)
        return cast(pd.DataFrame, _reporting("columns").explain_domain(self, name))

    @property
    def map_(self) -> pd.DataFrame:
        """The map as a table: a domain's role, place, uncertainty and distance to the sources.

        Examples
        --------
        >>> model.map_[["domain", "role"]].iloc[[0, 4]].values.tolist()
        [[0, 'source'], [4, 'target']]
        """
        check_is_fitted(self)
        return cast(pd.DataFrame, _reporting("columns").map_table(self))

    def _html_repr(self) -> str:
        """In notebooks the map in small and who predicts; before fit, the parameters."""
        if not hasattr(self, "domain_index_"):
            return str(super()._html_repr())
        return str(_reporting("report").model_card(self))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, to be opened by `domindex.load`.

        Weights are kept as safetensors and everything else as JSON, so that opening it runs no
        code. An existing model is refused unless `overwrite`.

        Examples
        --------
        >>> model.save("model")
        """
        check_is_fitted(self)
        if not type(self).__module__.startswith("domindex."):
            raise InputError(
                f"The model is a {type(self).__name__}, and only the estimators of domindex "
                "themselves can be saved. Use pickle, which keeps everything and runs code when "
                "opened."
            )
        save_model(self, path, overwrite=overwrite)

    def export(
        self, path: str | os.PathLike[str], *, format: str = "torch", overwrite: bool = False
    ) -> None:
        """Write what predicts in known domains to a folder that needs no estimator.

        "torch" writes `torch.export` programs, and skops files of what scikit-learn fitted; "onnx"
        writes one ONNX file, in which trees compute in single precision. Both take rows and the
        numbers of their domains in `domains_`; `domindex.load_exported` takes names.

        Examples
        --------
        >>> model.export("predictor")
        """
        check_is_fitted(self)
        if self._preparation is not None and not self._preparation.is_numeric:
            raise InputError(
                "The model was fitted on a table with texts or dates, whose preparation is no part "
                "of an exported program. Fit on numbers, or keep the model with model.save(path)."
            )

        def predict(X: NDArray, names: list[Hashable]) -> tuple[NDArray, ...]:
            said = self._predict(self._behind_gate(X, names), names)
            return (said.mean,) if said.deviation is None else (said.mean, said.deviation)

        source = Source(
            self._program,
            self._indices,
            tuple(self._input_shape),
            self.classes_.tolist() if hasattr(self, "classes_") else None,
            self._single_output,
            predict,
        )
        export_predictor(source, path, format, overwrite=overwrite)

    @abstractmethod
    def _program(self) -> Program:
        """What predicts in known domains, in torch."""

    def state(self) -> dict[str, Any]:
        """The fitted model: plain values and arrays, nested.

        Examples
        --------
        >>> "indices" in model.state()
        True
        """
        preparation, classes = self._preparation, {}
        parts = {name: getattr(self, f"_{name}") for name in self._parts}
        if self.task_ == "classification":
            kind = self.classes_.dtype.str.lstrip("<>=|")
            classes = {"classes": self.classes_.tolist(), "class_type": kind}
        return {
            "parameters": self._parameter_state(),
            "preparation": None if preparation is None else json.dumps(preparation.to_dict()),
            "domain_column": self._domain_column,
            "target_column": self._target_column,
            "input_shape": list(self._input_shape),
            "columns": None if self._columns is None else self._columns.tolist(),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": [str(n) for n in getattr(self, "feature_names_in_", [])],
            "source_domains": [self.domains_.index(name) for name in self.source_domains_],
            "single_output": bool(self._single_output),
            "off_map_domains": [self.domains_.index(name) for name in self.off_map_domains_],
            **classes,
            **{name: None if part is None else part.state() for name, part in parts.items()},
            **{name: table_state(getattr(self, f"{name}_")) for name in self._tables},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The model that `state` described; ValueError where that is damaged.

        Examples
        --------
        >>> CrossDomainClassifier.from_state(model.state()).domains_
        [0, 1, 2, 3, 4]
        """
        kinds: dict[str, Callable[..., Any]] = {
            "network": Network,
            "training": Training,
            "backbone": Backbone,
            "predictor": estimator_from_bytes,
            "candidates": lambda pairs: [
                (str(name), unpacked("predictor", p)) for name, p in pairs
            ],
            "class_weight": lambda items: dict(items),
        }

        def unpacked(name: str, value: Any) -> Any:
            return kinds[name](**without_removed(value)) if isinstance(value, dict) else value

        def without_removed(given: dict[str, Any]) -> dict[str, Any]:
            """Up to 0.1 a model could be trained in several processes, and from several starts."""
            removed = ("devices", "strategy", "accelerator", "precision", "starts")
            return {name: value for name, value in given.items() if name not in removed}

        given = without_removed(state["parameters"])
        parameters = {name: unpacked(name, value) for name, value in given.items()}
        model = cls(**parameters)
        model._restore(state)
        return model

    def _restore(self, state: dict[str, Any]) -> None:
        """Take back what was learned; ValueError where the parts do not fit each other."""
        self.task_ = self._known_task()
        if self.task_ == "classification":
            self.classes_ = class_array(state["classes"], state["class_type"])
        for name, kind in self._parts.items():
            if state.get(name) is not None:
                setattr(self, f"_{name}", kind.from_state(state[name]))
        indices, extractor, bounds = self._indices, self._extractor, self._bounds
        self._set_fitted(indices)
        shape = self._input_shape = tuple(int(size) for size in state["input_shape"])
        if state.get("preparation") is not None:
            self._preparation = TablePreparation.from_dict(json.loads(state["preparation"]))
            if len(self._preparation.features) != shape[0]:
                raise ValueError("the preparation does not fit the inputs")
        if self._off_map_test.views.offset.shape != indices.scaler.offset.shape:
            raise ValueError("the views of the rows do not fit the scale")
        if extractor is not None and extractor.input_shape != shape:
            raise ValueError("the shape of the inputs does not fit the backbone")
        encoded = shape if extractor is None else (extractor.n_features,)
        if not indices.takes(encoded):
            raise ValueError("the shape of the inputs does not fit the networks")
        if state.get("columns") is not None:  # models of before 0.3 have theirs as they came
            self._columns = np.array(state["columns"], dtype=np.int64)
            if sorted(state["columns"]) != [*range(int(np.prod(encoded)))]:
                raise ValueError("the order of the columns does not fit the inputs")
        if bounds is not None and bounds.low.shape != shape:
            raise ValueError("the bounds do not fit the inputs")
        if bounds is not None and bounds.domains != indices.domain_map.index.domains:
            raise ValueError("the bounds do not fit the map")
        if self._record and len(self._record.rows) != indices.domain_map.n_fitted:
            raise ValueError("the record of the fit does not fit the map")
        self._domain_column = state.get("domain_column")
        self._target_column = state.get("target_column")
        self.n_features_in_ = int(state["n_features_in"])
        if state["feature_names_in"]:
            self.feature_names_in_ = np.array(state["feature_names_in"], dtype=object)
        self.domains_ = list(indices.domain_map.index.domains)
        self.source_domains_ = [self.domains_[number] for number in state["source_domains"]]
        self.off_map_domains_ = [self.domains_[number] for number in state["off_map_domains"]]
        self._single_output = bool(state["single_output"])
        for name in self._tables:
            setattr(self, f"{name}_", table_from_state(state[name]))
        row = np.zeros((1, *shape))
        self._check_restored(self._features(row))

    def _check_restored(self, row: NDArray) -> None:
        """ValueError where the model cannot predict a row, or not one of its classes."""
        found = self._predict_mean(row, self.domains_[:1])
        if not np.isfinite(found).all():
            raise ValueError("it predicts NaN")
        classes = getattr(self, "classes_", None)
        if classes is not None and not len(set(classes.tolist())) == len(classes) == found.shape[1]:
            raise ValueError("the classes are not those that it predicts")

    def _parameter_state(self) -> dict[str, Any]:
        """Constructor arguments; settings objects as dictionaries of theirs."""
        state = {
            name: value.get_params() if isinstance(value, (Network, Training)) else value
            for name, value in self.get_params(deep=False).items()
        }
        if self.backbone is not None and not isinstance(self.backbone, str):
            backbone = as_backbone(self.backbone)
            assert backbone is not None
            given = state["backbone"] = backbone.get_params(deep=False)
            given["module"] = None if backbone.name == OWN else backbone.module
            if backbone.weights is not None:
                given["weights"] = os.fspath(backbone.weights)
        if "predictor" in state:
            state["predictor"] = _packed(state["predictor"])
        if not isinstance(state.get("candidates"), str | None):
            pairs = [[name, _packed(predictor)] for name, predictor in state["candidates"]]
            state["candidates"] = {"pairs": pairs}
        weights = state.get("class_weight")
        if isinstance(weights, Mapping):
            state["class_weight"] = {"items": [list(item) for item in weights.items()]}
        return state


class MappedRegressor(MappedEstimator):
    """One that predicts values with their deviations."""

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

        The deviation is that of an observation: of `CrossDomainRegressor` as large as held-out
        sources showed it to be, of `VDIRegressor` as its p(y|z) has it, which nothing has checked
        in domains without labels. Domains never seen are placed on the map first; without
        `sample_domain` all rows are one, with a warning.

        Examples
        --------
        >>> model = CrossDomainRegressor(**few, random_state=0)
        >>> model = model.fit(data.X, data.X[:, 0], **rows, source_domains=[0, 1, 2])
        >>> mean, deviation = model.predict(data.X, **rows, return_std=True)
        """
        predicted = self._predict(*self._check_query(X, sample_domain, warn=True))
        assert predicted.deviation is not None
        mean, deviation = self._as_labels(predicted.mean), self._as_labels(predicted.deviation)
        return (mean, deviation) if return_std else mean


def warn_of_collapse(coordinates: Floats, z: Floats | None = None, rounding: float = 1e-6) -> None:
    """Warn where all domains lie at one place, or where a network encodes all rows alike."""
    said = []
    if len(coordinates) > 1 and np.ptp(coordinates, axis=0).max() <= rounding:
        said.append(
            f"All {len(coordinates)} domains lie at one place of the map: their inputs are alike, "
            "and the index tells nothing. Look whether sample_domain names what differs, or add "
            "inputs that do; predictions are those of a model without domains."
        )
    if z is not None and len(z) > 1 and np.ptp(z, axis=0).max() <= rounding * (1 + np.abs(z).max()):
        said.append(
            "The network encodes all rows alike: z is constant, and what it predicts does not "
            "depend on X. Lower its adversary_weight or learning_rate, or give it more steps."
        )
    for one in said:
        warnings.warn(one, CollapseWarning, stacklevel=frames_inside())


def _packed(predictor: Any) -> Any:
    """A name as it is, an estimator of the user's as bytes."""
    if isinstance(predictor, str):
        return predictor
    return {"packed": estimator_bytes(predictor, f"The predictor {type(predictor).__name__}")}
