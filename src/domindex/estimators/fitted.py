"""What a fitted model holds: its attributes, how it is saved and exported, and what it shows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Floats
from domindex.committee.alignments import BackboneAlignment
from domindex.committee.committee import Committee, Forecaster
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.record import FitRecord
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator
from domindex.export.exporting import Source, export_predictor
from domindex.geometry.domain_map import LandmarkError
from domindex.geometry.off_map import OffMapTest
from domindex.inputs.bounds import InputBounds
from domindex.inputs.domain_data import Task
from domindex.inputs.preparation import TablePreparation
from domindex.neural.backbones import OWN, Backbone, FeatureExtractor, as_backbone
from domindex.neural.settings import Training
from domindex.persistence.codec import table_from_state, table_state
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.model_folder import save_model
from domindex.vdi.settings import Network

if TYPE_CHECKING:
    from typing_extensions import Self


PARTS: dict[str, Any] = {
    "extractor": FeatureExtractor,
    "bounds": InputBounds,
    "indices": FittedIndices,
    "committee": Committee,
    "forecaster": Forecaster,
    "off_map_test": OffMapTest,
    "record": FitRecord,
}
"""Of a fitted model, as attributes after an underscore; the first two and the last may be None."""

TABLES = ("timings", "forecast", "candidates", "history")


def _reporting(module: str) -> Any:
    """Figures, pages and words, which stand above the estimators: looked up when called for."""
    return import_module(f"domindex.reporting.{module}")


class FittedCommittee(DomainEstimator):
    """The state of a fitted model; `CrossDomainModel` adds how it is fitted and asked."""

    _task: ClassVar[Task]
    _forecast_column: ClassVar[str]
    predictor: Any
    candidates: Sequence[tuple[str, Any]] | None
    backbone: Any
    _forecaster: Forecaster
    _off_map_test: OffMapTest
    _record: FitRecord | None = None  # models of before there was one have none
    candidates_: pd.DataFrame
    forecast_: pd.DataFrame
    history_: pd.DataFrame
    timings_: pd.DataFrame

    def _set_fitted(self, indices: FittedIndices, committee: Committee) -> None:
        self._indices, self._committee = indices, committee
        self.off_map_domains_: list[Hashable] = []
        self.domain_index_, self.domain_index_std_ = indices.index()
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_angles_ = self.domain_index_.angles
        self._n_features_out = indices.module.local_dim
        index = indices.domain_map.index
        self.added_domains_ = list(index.domains[indices.domain_map.n_fitted :])
        landmarks = None if index.landmarks is None else [index.domains[n] for n in index.landmarks]
        self.landmark_domains_ = landmarks

    @property
    def domain_distances_(self) -> Floats:
        """(domains, domains), the transport distances behind the map.

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
                f"The model is a {type(self).__name__}, and only CrossDomainClassifier and "
                "CrossDomainRegressor themselves can be saved. Use pickle, which keeps everything "
                "and runs code when opened."
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

        network = self._committee.network
        trained = network is not None and isinstance(network.module.alignment, BackboneAlignment)
        source = Source(
            self._committee,
            self._indices,
            self._extractor,
            self._bounds,
            tuple(self._input_shape),
            self.classes_.tolist() if hasattr(self, "classes_") else None,
            self._single_output,
            predict,
            uses_single=trained or self._extractor is not None,
        )
        export_predictor(source, path, format, overwrite=overwrite)

    def state(self) -> dict[str, Any]:
        """The fitted model: plain values and arrays, nested.

        Examples
        --------
        >>> "committee" in model.state()
        True
        """
        preparation = self._preparation
        parts = {name: getattr(self, f"_{name}") for name in PARTS}
        return {
            "parameters": self._parameter_state(),
            "preparation": None if preparation is None else json.dumps(preparation.to_dict()),
            "domain_column": self._domain_column,
            "target_column": self._target_column,
            "input_shape": list(self._input_shape),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": [str(n) for n in getattr(self, "feature_names_in_", [])],
            "source_domains": [self.domains_.index(name) for name in self.source_domains_],
            "single_output": bool(self._single_output),
            "off_map_domains": [self.domains_.index(name) for name in self.off_map_domains_],
            "representation": self.representation_,
            "flow": self.flow_,
            "grid_flow": self.grid_flow_,
            **{name: None if part is None else part.state() for name, part in parts.items()},
            **{name: table_state(getattr(self, f"{name}_")) for name in TABLES},
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
        for name, kind in PARTS.items():
            if state.get(name) is not None:
                setattr(self, f"_{name}", kind.from_state(state[name]))
        indices, extractor, bounds = self._indices, self._extractor, self._bounds
        self._set_fitted(indices, self._committee)
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
        if encoded != indices.module.flatten.input_shape:
            raise ValueError("the shape of the inputs does not fit the networks")
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
        self.task_ = self._task
        self.domains_ = list(indices.domain_map.index.domains)
        self.source_domains_ = [self.domains_[number] for number in state["source_domains"]]
        self.off_map_domains_ = [self.domains_[number] for number in state["off_map_domains"]]
        self._single_output = bool(state["single_output"])
        self.representation_ = str(state["representation"])
        self.flow_, self.grid_flow_ = state["flow"], state.get("grid_flow")
        for name in TABLES:
            setattr(self, f"{name}_", table_from_state(state[name]))
        # as it was called up to 0.1
        self.candidates_ = self.candidates_.rename(columns={"price": "penalty"})
        row = np.zeros((1, *shape))
        row = row if extractor is None else extractor.table(row)
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
        state["predictor"] = _packed(self.predictor)
        if self.candidates is not None:
            pairs = [[name, _packed(predictor)] for name, predictor in self.candidates]
            state["candidates"] = {"pairs": pairs}
        weights = state.get("class_weight")
        if isinstance(weights, Mapping):
            state["class_weight"] = {"items": [list(item) for item in weights.items()]}
        return state


def _packed(predictor: Any) -> Any:
    """A name as it is, an estimator of the user's as bytes."""
    if isinstance(predictor, str):
        return predictor
    return {"packed": estimator_bytes(predictor, f"The predictor {type(predictor).__name__}")}
