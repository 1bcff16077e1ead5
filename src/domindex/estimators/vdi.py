"""Variational domain indexing: what classifier and regressor share."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from domindex.committee.building import (
    IN_PLAY,
    MISTAKES_LEFT,
    QUICK_ROUNDS,
    ROUNDS,
    SLOWEST,
    BuiltCommittee,
    Ground,
    build_committee,
)
from domindex.committee.candidate import (
    ENCODED,
    ENCODED_PREDICTORS,
    MANY_CELLS,
    MIXES_CELLS,
    NETWORK,
    Candidate,
    check_representation,
    list_candidates,
)
from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.committee import Committee, Prediction
from domindex.committee.convolutional_learner import STEPS as CONVOLUTION_STEPS
from domindex.committee.fit_context import LEAST_SEEN, MOST_SEEN, FitContext, fit_context
from domindex.committee.fitting_members import BACKBONE_FOLD_STEPS, FOLD_STEPS
from domindex.committee.forecast import Forecaster
from domindex.committee.forecast_table import forecast_table
from domindex.committee.index_inference import (
    PAPER_LOCAL_DIM,
    infer_indices,
    infer_paper_indices,
)
from domindex.committee.kept_map import CLOSED_FORM, kept_map
from domindex.committee.predictors import learner_for
from domindex.committee.side_by_side import Workers
from domindex.committee.words import (
    describe_committee,
    describe_left_out,
    describe_loop,
    describe_two_ways,
)
from domindex.data import DomainData
from domindex.data.bounds import InputBounds
from domindex.data.domain_data import Task
from domindex.data.finite import require_finite_table
from domindex.data.layout import check_inputs_kind
from domindex.data.parameters import (
    MOST_DIMENSIONS,
    check_running,
    require_counts,
    require_texts,
)
from domindex.data.readable_names import readable_name
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Floats, Names
from domindex.estimators.collapse import warn_of_collapse
from domindex.estimators.cost import LONG, FitSize, estimate_seconds, in_words, machine_speed
from domindex.estimators.exporting import exported_source
from domindex.estimators.fit_record import FitRecord
from domindex.estimators.new_domains import (
    check_new_names,
    fit_off_map_test,
    flag_new,
    judge,
    placement_table,
    warn_off_map,
)
from domindex.estimators.resuming import fit_facts, opened_journal
from domindex.estimators.showing import ShownModel
from domindex.estimators.streaming import streams
from domindex.export import export_predictor
from domindex.geometry import domain_graph
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.flow_selection import (
    DOMAINS_PER_NEIGHBOR,
    FEW_NEIGHBORS,
    MOST_NEIGHBORS,
)
from domindex.geometry.grid_selection import grid_constants
from domindex.geometry.landmarks import LandmarkError
from domindex.geometry.off_map import OffMapTest
from domindex.model.fitted_indices import FittedIndices
from domindex.model.module import PREDICTOR_RATE
from domindex.networks.alignments import AFFINE_RATE, FLOW_RATE
from domindex.networks.backbone_settings import OWN, Backbone, as_backbone
from domindex.networks.feature_extractor import FeatureExtractor
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.model_folder import save_model
from domindex.persistence.table_states import table_from_state, table_state
from domindex.preparation import TablePreparation
from domindex.progress import Progress
from domindex.representations import PlacedRows
from domindex.representations.grid_flow import GridFlowAligned
from domindex.representations.map_rows import rows_for_map
from domindex.training.launching import is_leading, joined_processes
from domindex.training.places import Places
from domindex.training.processes import Processes
from domindex.training.settings import Network, Training, TrainingSettings
from domindex.training.straightening import STRAIGHTENING_RATE, STRAIGHTENING_STEPS, WARP_PRICE
from domindex.training.threads import one_thread

if TYPE_CHECKING:
    from typing_extensions import Self

PAPER_TRAINING = {"steps": 1000, "starts": 2, "admission": 0.6}
"""The paper's model has to find an affine map that can end in a wrong turn: domains are admitted to
it one by one along the map, it takes twice the steps, and it gets a second chance. Found with the
accuracy on Circle, DG-15 and DG-60 in view."""

QUICK_TRAINING = {"index_steps": 50}
QUICK_CHOICES = ChoiceSettings(near_folds=3, far_folds=2, told_folds=1)
"""With effort="quick": a short block for the indices, which stay where they start, and fewer
folds."""

EFFORTS = ("full", "quick")


ONE_SOURCE = (
    "With one source no domain could be held out: these figures rest on how sure the model is of "
    "itself. Label a few rows of a second domain before relying on them."
)
"""What is said beside forecasts that nothing was held out for."""


class BaseVDI(ShownModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, DomainEstimator):
    """Variational domain indexing behind scikit-learn's interface."""

    _task: ClassVar[Task]

    def __init__(
        self,
        *,
        inputs: str = "auto",
        index_dim: int = 2,
        local_dim: int | None = None,
        flow: str | None = "auto",
        representation: str = "auto",
        predictor: Any = "auto",
        candidates: Sequence[tuple[str, Any]] | None = None,
        effort: str = "full",
        backbone: Any = None,
        network: Network | None = None,
        training: Training | None = None,
        devices: int | str | list[int] | None = None,
        strategy: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.inputs = inputs
        self.index_dim = index_dim
        self.local_dim = local_dim
        self.flow = flow
        self.representation = representation
        self.predictor = predictor
        self.candidates = candidates
        self.effort = effort
        self.backbone = backbone
        self.network = network
        self.training = training
        self.devices = devices
        self.strategy = strategy
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @streams
    def transform(self, X: Any) -> Floats:
        """The local index u of every row, (rows, local_dim): needs no domain.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.transform(data.X).shape[0]
        100
        """
        return self._indices.local_indices(self._check_rows(X))

    @streams
    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """What predictions are made from, (rows, size): the encoding z where a network predicts.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.encode(data.X, **rows).shape[0]
        100
        """
        inputs, names = self._check_query(X, sample_domain)
        return self._committee.encode(self._indices.placed(inputs, names), self._indices)

    def place_domains(
        self, X: Any, *, sample_domain: Any = None, forecast: bool = True
    ) -> pd.DataFrame:
        """Where the domains of these rows lie on the map, known or new: a row a domain.

        New domains are placed by their inputs; the model does not change. Without
        `sample_domain` all rows are one new domain, named None.

        Columns: domain, rows, index_1, … (coordinates), std_1, … (their uncertainty), angle (around
        the ring, where the map closes, as in `domain_angles_`), nearest_1, distance_1, … (the
        nearest known domains and their distances on the map), off_map and off_map_score (above 1 a
        domain is further from the family than 95 % of known domains left out in turn; NaN with
        fewer than 4 known domains), and, where `forecast`, what to expect: expected_accuracy or
        expected_error with low and high, as in `forecast_`.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> new = data.X[:20] + [0.1, 0.0]  # rows of a domain that fit never saw
        >>> model.place_domains(new, sample_domain=["new"] * 20)["domain"].tolist()
        ['new']
        """
        inputs, names = self._check_query(X, sample_domain)
        rows = self._indices.placed(inputs, names)
        verdicts = judge(self._off_map_test, self._indices, rows, self.off_map_domains_)
        table = placement_table(rows, self._indices, verdicts)
        require_finite_table(table.drop(columns="off_map_score"), "The place on the map")
        if not forecast:
            return table
        expected = self._forecast(rows, verdicts.flagged)[[self._forecast_column, "low", "high"]]
        return pd.concat([table, expected], axis=1)

    def add_domains(self, X: Any, *, sample_domain: Any) -> Self:
        """A new fitted model that knows the domains of these rows too; this one stays as it is.

        Nothing is trained. The new domains get a place on the map, and whatever members hold of
        every domain (levels, spreads, shares of classes) is measured from their rows once and for
        all, as for the targets of the fit. `domains_`, `domain_index_`, `domain_index_std_`,
        `domain_distances_` and `forecast_` include them, at the end. They do not move others, and
        have no say in where later ones are placed; so the order of additions does not matter.

        Domains off the map are added with a warning; their names are in `off_map_domains_`.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> new = data.X[:20] + [0.1, 0.0]  # rows of a domain that fit never saw
        >>> grown = model.add_domains(new, sample_domain=["new"] * 20)
        >>> grown.added_domains_
        ['new']
        """
        inputs, names = self._check_query(X, sample_domain)
        check_new_names(names, self.domains_)
        assert names is not None
        indices = self._indices.with_domains(inputs, names)
        rows = indices.placed(inputs, names)
        flagged = flag_new(self._off_map_test, self._indices, rows, ())
        grown = copy(self)
        committee = self._committee.with_domains(rows, indices)
        grown._remember(indices, committee, self._forecaster, self._off_map_test)
        grown.domains_ = list(indices.domain_map.index.domains)
        grown.source_domains_ = list(self.source_domains_)
        if self._bounds is not None:
            grown._bounds = self._bounds.with_domains(inputs, names)
        grown.off_map_domains_ = [*self.off_map_domains_, *flagged]
        expected = grown._forecast(rows, flagged)
        grown.forecast_ = pd.concat([self.forecast_, expected], ignore_index=True)
        for name in ("candidates_", "history_", "timings_"):
            setattr(grown, name, getattr(self, name).copy())
        warn_off_map(flagged)
        return grown

    def domain_graph(self, **rule: Any) -> nx.Graph:
        """The domains that are close on the map, as a NetworkX graph.

        `rule` is one of threshold=, quantile= and n_neighbors=, as in `geometry.domain_graph`.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> len(model.domain_graph(quantile=0.5).edges)
        5
        """
        check_is_fitted(self)
        return domain_graph(self.domain_index_, **rule)

    def index_deviations(self, coordinates: Any) -> Floats:
        """The uncertainty of the map at points of it, (points, index_dim) in and out.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.index_deviations(model.domain_indices_[:2]).shape
        (2, 2)
        """
        check_is_fitted(self)
        return self._indices.deviations(np.atleast_2d(np.asarray(coordinates, dtype=np.float64)))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, to be opened by `domindex.load`.

        Weights are kept as safetensors and everything else as JSON, so that opening it runs no
        code. An existing model is refused unless `overwrite`. Of several processes that a launcher
        started and that fitted it together, the first writes.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> import domindex
        >>> saved = model.save("model")
        >>> domindex.load("model").domains_
        [0, 1, 2, 3, 4]
        """
        check_is_fitted(self)
        if getattr(self, "n_processes_", 1) > 1 and not is_leading():
            return
        if not type(self).__module__.startswith("domindex."):
            raise InputError(
                f"The model is a {type(self).__name__}, and only VDIClassifier and VDIRegressor "
                "themselves can be saved. Use pickle, which keeps everything and runs code when "
                "opened."
            )
        save_model(self, path, overwrite=overwrite)

    def export(
        self, path: str | os.PathLike[str], *, format: str = "torch", overwrite: bool = False
    ) -> None:
        """Write what predicts in known domains to a folder that needs no estimator.

        "torch" writes a `torch.export` program, and skops files for predictors that torch has no
        form of; "onnx" writes one ONNX file, where every predictor has one. The program takes rows
        and the numbers of their domains in `domains_`; `domindex.load_exported` takes names. It is
        compared with `predict` before it is written.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> exported = model.export("predictor")
        >>> from domindex import load_exported
        >>> load_exported("predictor").predict(data.X, sample_domain=data.sample_domain).shape
        (100,)
        """
        check_is_fitted(self)
        export_predictor(exported_source(self), path, format, overwrite=overwrite)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from all inputs and the sources' labels.

        Parameters
        ----------
        X : array, data frame or tensor, (rows, features) or (rows, ...) for images. Of any size,
            and learned from by a sample: a memory-mapped array; a torch `Dataset` of (x, y,
            domain); a pyarrow dataset, a polars LazyFrame or a Dask DataFrame, of which `y` and
            `sample_domain` name columns, and all others are inputs
            Data frames may hold texts and missing values, which are prepared as of a table
        y : labels, one per row, or the name of a column of a data frame; what stands in rows of
            target domains is never read
        sample_domain : a domain name per row, or the name of a column of a data frame
        source_domains : names of the labelled domains; None where `sample_domain` holds integers,
            negative for targets, or where labels of targets are NaN or None
        sample_weight : how much each row counts in learning; not read in rows of targets
        checkpoint : a folder for what is finished of the fit. The same fit with the same folder
            goes on where it was cut off, with the result it would have had; it stays there until
            you remove it. None keeps nothing

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.domains_, model.source_domains_
        ([0, 1, 2, 3, 4], [0, 1, 2])
        """
        with opened_journal(checkpoint) as journal:
            return self._fit_checked(
                X, y, sample_domain, source_domains, sample_weight, journal=journal
            )

    def forecast(self, X: Any, *, sample_domain: Any = None) -> pd.DataFrame:
        """What to expect of predictions in the domains of these rows: `forecast_` for any rows.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.forecast(data.X, **rows)["domain"].tolist()
        [0, 1, 2, 3, 4]
        """
        inputs, names = self._check_query(X, sample_domain)
        rows = self._indices.placed(inputs, names)
        return self._forecast(rows, self._flag(rows))

    def summary(self) -> str:
        """What was chosen and why, and what to expect, in words.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.summary().splitlines()[0]
        'Predictions: linear on raw inputs 100 %.'
        """
        check_is_fitted(self)
        lines = [f"Predictions: {describe_committee(self.candidates_)}."]
        lines += describe_left_out(self.candidates_)
        domain_map = self._indices.domain_map
        loop = domain_map.loop
        if loop is not None:
            drawn = [self.domains_[number] for number in domain_map.drawn]
            lines.append(describe_loop(loop.persistence, loop.order, drawn))
        if domain_map.landmark_error is not None:
            lines.append(str(domain_map.landmark_error))
        return "\n".join([*lines, *self._forecast_words(), *describe_two_ways(self.forecast_)])

    def _forecast_words(self) -> list[str]:
        if not len(self.forecast_):
            return []
        column = self._forecast_column
        ordered = self.forecast_.sort_values(column, ascending=column != "expected_accuracy")
        names = [readable_name(str(name)) for name in ordered["domain"]]
        expected = ordered[column].tolist()
        low, high = ordered["low"].iloc[-1], ordered["high"].iloc[-1]
        what = column.replace("expected_", "")
        return [
            f"Expected {what} by target domain: {ordered[column].mean():.3g} on average, from "
            f"{expected[0]:.3g} ({names[0]}) to {expected[-1]:.3g} ({names[-1]}, "
            f"80 % interval {low:.3g} to {high:.3g}).",
            *([ONE_SOURCE] if len(self.source_domains_) == 1 else []),
        ]

    @property
    def _forecast_column(self) -> str:
        return "expected_accuracy" if self._predicts_classes() else "expected_error"

    def _fit_data(self, data: DomainData) -> None:
        """By this process, with the help of others, or, where another leads, what that learned."""
        places = Places.of(self._training())
        with joined_processes(places, data) as processes:
            if processes is None or processes.leads:
                self._fit_committee(data, processes)
            if processes is not None and processes.leads:
                processes.finish(self._fitted())
            elif processes is not None:
                self.__dict__.update(processes.serve(places.fabric()))
            self.n_processes_ = 1 if processes is None else processes.n

    def _fit_committee(self, data: DomainData, processes: Processes | None) -> None:
        with self._ground(data, processes) as ground:
            built = build_committee(
                self._list_candidates(ground),
                ground,
                asked=self.candidates is not None,
                quick=self.effort == "quick",
            )
        timings = ground.context.timings
        with timings.stage("forecasting"):
            test = fit_off_map_test(data, ground.geometry)
            self._remember(ground.indices, built.committee, built.forecaster, test)
            self._tell(built, data, ground.geometry, ground.context)
        with timings.stage("explaining"), one_thread():
            names = self._column_names(data)
            workers = Workers(self.n_jobs, ground.context.n_threads)
            self._record: FitRecord | None = FitRecord.of(built, data, names, ground.seed, workers)
        self.timings_ = timings.table()

    @contextmanager
    def _ground(self, data: DomainData, processes: Processes | None = None) -> Iterator[Ground]:
        """The map of the data and the indices on it, for candidates to stand on."""
        network, training = self.network or Network(), self._training()
        settings, seed = self._training_settings(training), self._seed()
        given = (data, network, training, settings, seed, self.verbose, self._choices(), processes)
        backbone = self._trained_backbone(data.inputs)
        if self._journal is not None:
            n_processes = 1 if processes is None else processes.n
            facts = fit_facts(self, data, seed, n_processes, self._all_settings())
            self._journal.begin(facts)
        with fit_context(*given, backbone=backbone, journal=self._journal) as context:
            self._announce_cost(data, context.progress)
            with context.timings.stage("mapping"):
                for _ in context.progress.track("mapping", 1):
                    indices, geometry = self._infer_indices(data, context)
            yield Ground(data, geometry, indices, context, seed, self.n_jobs)

    def _announce_cost(self, data: DomainData, progress: Progress) -> None:
        """About how long it will take, where somebody looks on and it is long."""
        if not self.verbose or self.candidates is not None or self.flow is None:
            return
        seconds = estimate_seconds(FitSize.of(data), self.effort, machine_speed())
        if seconds >= LONG:
            progress.say(f"This will take {in_words(seconds)} or so.")

    def _list_candidates(self, ground: Ground) -> list[Candidate]:
        predictor = self.predictor
        if self.flow is None and predictor == "auto" and self.representation != ENCODED:
            predictor = NETWORK
        return list_candidates(
            self.candidates,
            self.representation,
            predictor,
            ground.data,
            ground.geometry,
            ground.context.choices,
            has_backbone=ground.context.backbone is not None,
        )

    def _tell(
        self,
        built: BuiltCommittee,
        data: DomainData,
        geometry: DomainGeometry,
        context: FitContext,
    ) -> None:
        """What a user can read of the choice."""
        self.candidates_ = built.table
        self.representation_ = built.committee.members[0].representation.name
        self.history_ = context.history.to_frame()
        told = built.table.loc[built.table["weight"] > 0, "representation"].tolist()
        network = built.committee.network
        uses_flow = "flow" in told or (network is not None and network.follows_flow)
        if told[0] in ("flow", ENCODED):
            self.representation_ = told[0]
        self.flow_ = _flow_facts(geometry, built.committee) if uses_flow else None
        self.grid_flow_ = _grid_flow_facts(built.committee)
        rows = PlacedRows.of_map(data, geometry.domain_map)
        targets = {name for name, source in zip(data.domains, data.is_source) if not source}
        self.source_domains_ = list(data.source_domains)
        self.forecast_ = self._forecast(rows.only(targets))
        warn_of_collapse(self.domain_indices_, network, rows, self._indices)

    def _column_names(self, data: DomainData) -> list[Hashable] | None:
        """What the inputs are called; None where a backbone's features stand for them."""
        if self._extractor is not None or data.inputs.ndim != 2:
            return None
        given = self._input_names()
        if given is None:
            return [f"input {n + 1}" for n in range(data.inputs.shape[1])]
        return [*given]

    def _forecast(self, rows: PlacedRows, off_map: Sequence[Hashable | None] = ()) -> pd.DataFrame:
        table = forecast_table(
            self._committee, self._forecaster, rows, self._indices, self.source_domains_, off_map
        )
        return require_finite_table(table, "What to expect")

    def _flag(self, rows: PlacedRows) -> list[Hashable | None]:
        """Names of the domains of these rows that lie off the map."""
        return flag_new(self._off_map_test, self._indices, rows, self.off_map_domains_)

    def _infer_indices(
        self, data: DomainData, context: FitContext
    ) -> tuple[FittedIndices, DomainGeometry]:
        """Local indices, the map drawn from them, and, by default, the flow along it."""
        if self.flow is None:
            dims = self.index_dim, self.local_dim
            return kept_map(
                context, lambda: infer_paper_indices(data, *dims, context, n_jobs=self.n_jobs)
            )
        geometry = context.journal.piece(CLOSED_FORM, lambda: self._solve_geometry(data, context))
        may_refine = self.effort != "quick"
        return kept_map(
            context, lambda: infer_indices(data, geometry, context, may_refine=may_refine)
        )

    def _solve_geometry(self, data: DomainData, context: FitContext) -> DomainGeometry:
        """The closed form: where domains differ, the map, the flow."""
        return DomainGeometry.fit(
            data,
            self.index_dim,
            map_rows=rows_for_map(data, context.choices.most_matching_cost),
            local_dim=self.local_dim,
            reliable=context.choices.reliable_shapes,
            n_jobs=self.n_jobs,
        )

    def _remember(
        self,
        indices: FittedIndices,
        committee: Committee,
        forecaster: Forecaster,
        off_map_test: OffMapTest,
    ) -> None:
        self._indices, self._committee, self._forecaster = indices, committee, forecaster
        self._off_map_test = off_map_test
        self.off_map_domains_: list[Hashable] = []
        self.domain_index_, self.domain_index_std_ = indices.index()
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_angles_ = self.domain_index_.angles
        self._n_features_out = indices.module.local_dim

    @property
    def added_domains_(self) -> list[Hashable]:
        """Names of the domains that were added after the fit, in their order.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.added_domains_
        []
        """
        domain_map = self._indices.domain_map
        return list(domain_map.index.domains[domain_map.n_fitted :])

    @property
    def domain_distances_(self) -> Floats:
        """(domains, domains), the transport distances behind the map.

        Of more than 500 domains (domains, landmarks), in the order of `landmark_domains_`. Those of
        added domains are measured when first asked for.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.domain_distances_.shape
        (5, 5)
        """
        return self._indices.domain_map.all_transport

    @property
    def landmark_domains_(self) -> list[Hashable] | None:
        """Names of the domains that the map was drawn from; None where it was drawn from all.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.landmark_domains_ is None  # all five are in the map's own distances
        True
        """
        index = self._indices.domain_map.index
        if index.landmarks is None:
            return None
        return [index.domains[number] for number in index.landmarks]

    @property
    def landmark_error_(self) -> LandmarkError | None:
        """How well the map follows exact distances on random pairs; None without landmarks.

        Measured when first asked for, in about a second.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> model.landmark_error_ is None
        True
        """
        return self._indices.domain_map.landmark_error

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        return self._predict(inputs, names).mean

    def _predict(self, inputs: NDArray, names: Names) -> Prediction:
        rows = self._indices.placed(inputs, names)
        warn_off_map(self._flag(rows))
        return self._committee.predict(rows, self._indices)

    def _task_to_fit(self) -> Task:
        return self._task

    def _training(self) -> Training:
        """How long and where networks are trained; what is None here is `training`'s."""
        asked = {"devices": self.devices, "strategy": self.strategy}
        given = {name: value for name, value in asked.items() if value is not None}
        parameters = (self.training or Training()).get_params()
        return Training(**{**parameters, **given})

    def _fitted(self) -> dict[str, Any]:
        """Everything that is no parameter: what another process takes over."""
        parameters = self.get_params(deep=False)
        return {name: value for name, value in vars(self).items() if name not in parameters}

    def _training_settings(self, training: Training) -> TrainingSettings:
        quick = QUICK_TRAINING if self.effort == "quick" else {}
        return training.settings(**(PAPER_TRAINING if self.flow is None else {}), **quick)

    def _check_parameters(self) -> None:
        check_running(self)
        require_texts(self, "inputs", "representation", "effort")
        require_texts(self, "flow", none_too=True)
        check_inputs_kind(self.inputs)
        if self.flow not in ("auto", None):
            raise InputError(f"flow is {self.flow!r}. Choose 'auto', or None for no flow.")
        require_counts(self, "index_dim", most=MOST_DIMENSIONS)
        if self.local_dim is not None:
            require_counts(self, "local_dim", most=MOST_DIMENSIONS)
        if self.representation != "auto":
            check_representation(self.representation)
            self._check_encoded(self.representation, self.predictor)
        if self.flow is None and self.representation == "flow":
            raise InputError(
                "flow is None, so there is no flow for representation='flow' to follow. "
                "Choose flow='auto', or another representation."
            )
        if self.effort not in EFFORTS:
            raise InputError(f"effort is {self.effort!r}. Choose one of {EFFORTS}.")
        self._check_predictor(self.predictor)
        self._check_candidates()
        for name, kind in (("network", Network), ("training", Training)):
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                raise InputError(
                    f"{name} is {given!r:.60}. Pass a domindex.{kind.__name__}, or None for "
                    "defaults."
                )
        (self.network or Network()).check()
        (self.training or Training()).check()
        Places.of(self._training())
        as_backbone(self.backbone)

    def _check_predictor(self, predictor: Any) -> None:
        if not (isinstance(predictor, str) and predictor in ("auto", NETWORK)):
            learner_for(predictor, self._task)

    def _check_encoded(self, representation: str, predictor: Any) -> None:
        if representation == ENCODED and isinstance(predictor, str) and predictor == NETWORK:
            raise InputError(
                "The network is asked for on what the network encodes. Choose another predictor "
                "for 'encoded', or another representation for the network."
            )

    def _check_candidates(self) -> None:
        """Pairs of a representation by name and a predictor, if any are given."""
        if self.candidates is None:
            return
        pairs = list(self.candidates) if isinstance(self.candidates, (list, tuple)) else []
        if not pairs or not all(
            isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs
        ):
            raise InputError(
                f"candidates is {self.candidates!r:.80}. Pass a list of pairs (representation, "
                "predictor), such as [('raw', 'boosting'), ('domain_standardised', 'linear')]."
            )
        if (self.representation, self.predictor) != ("auto", "auto"):
            raise InputError(
                "candidates is given, and representation or predictor too. Give one or the other."
            )
        for representation, predictor in pairs:
            check_representation(representation)
            self._check_predictor(predictor)
            self._check_encoded(representation, predictor)
        if sum(isinstance(one, str) and one == NETWORK for _, one in pairs) > 1:
            raise InputError("candidates names the network twice. Name it once.")

    def _choices(self) -> ChoiceSettings:
        return QUICK_CHOICES if self.effort == "quick" else ChoiceSettings()

    def _all_settings(self) -> dict[str, Any]:
        """Everything settable that a fit depends on, in plain values."""
        network, training = self.network or Network(), self.training or Training()
        paper = {"local_dim": PAPER_LOCAL_DIM} if self.flow is None else {}
        return {
            **paper,
            "choices": asdict(self._choices()),
            "rounds": (
                ROUNDS,
                QUICK_ROUNDS,
                IN_PLAY,
                MISTAKES_LEFT,
                FOLD_STEPS,
                ENCODED_PREDICTORS,
            ),
            **self._backbone_settings(),
            "network": network.get_params(),
            "training": asdict(self._training_settings(training)),
            "weights": asdict(network.weights()),
            "neighbors": (*FEW_NEIGHBORS, MOST_NEIGHBORS, DOMAINS_PER_NEIGHBOR),
            "rates": (FLOW_RATE, AFFINE_RATE, PREDICTOR_RATE),
            "pictures": (SLOWEST, MANY_CELLS, MIXES_CELLS, CONVOLUTION_STEPS, *grid_constants()),
            "straightening": (STRAIGHTENING_STEPS, STRAIGHTENING_RATE, WARP_PRICE),
        }

    def _backbone_settings(self) -> dict[str, Any]:
        """Constants of a backbone's training, where there is one."""
        backbone = as_backbone(self.backbone)
        if backbone is None:
            return {}
        return {"backbone": (backbone.share, BACKBONE_FOLD_STEPS, MOST_SEEN, LEAST_SEEN)}

    def state(self) -> dict[str, Any]:
        """The fitted model: plain values and arrays, nested.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> "committee" in model.state()
        True
        """
        extractor, preparation, bounds = self._extractor, self._preparation, self._bounds
        return {
            "parameters": self._parameter_state(),
            "extractor": None if extractor is None else extractor.state(),
            "preparation": None if preparation is None else json.dumps(preparation.to_dict()),
            "bounds": None if bounds is None else bounds.state(),
            "domain_column": self._domain_column,
            "target_column": self._target_column,
            "input_shape": list(self._input_shape),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": [str(n) for n in getattr(self, "feature_names_in_", [])],
            "source_domains": [self.domains_.index(name) for name in self.source_domains_],
            "single_output": bool(self._single_output),
            "indices": self._indices.state(),
            "committee": self._committee.state(),
            "forecaster": self._forecaster.state(),
            "off_map_test": self._off_map_test.state(),
            "off_map_domains": [self.domains_.index(name) for name in self.off_map_domains_],
            "timings": table_state(self.timings_),
            "forecast": table_state(self.forecast_),
            "representation": self.representation_,
            "candidates": table_state(self.candidates_),
            "history": table_state(self.history_),
            "flow": self.flow_,
            "grid_flow": self.grid_flow_,
            "record": None if self._record is None else self._record.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The model that `state` described; ValueError where that is damaged.

        Examples
        --------
        >>> from domindex import Training, VDIClassifier
        >>> from domindex.datasets import make_circle
        >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
        >>> few = {"candidates": [("raw", "linear")], "training": Training(index_steps=5)}
        >>> model = VDIClassifier(**few, random_state=0)
        >>> rows = {"sample_domain": data.sample_domain}
        >>> model = model.fit(data.X, data.y, **rows, source_domains=[0, 1, 2])
        >>> VDIClassifier.from_state(model.state()).domains_
        [0, 1, 2, 3, 4]
        """
        kinds: dict[str, Callable[..., Any]] = {
            "network": Network,
            "training": Training,
            "backbone": Backbone,
            "predictor": estimator_from_bytes,
            "candidates": _unpacked_pairs,
            "class_weight": _unpacked_mapping,
        }
        model = cls(
            **{
                name: kinds[name](**value) if isinstance(value, dict) else value
                for name, value in state["parameters"].items()
            }
        )
        model._restore(state)
        return model

    def _restore(self, state: dict[str, Any]) -> None:
        """Take back what was learned."""
        indices = FittedIndices.from_state(state["indices"])
        committee = Committee.from_state(state["committee"])
        forecaster = Forecaster.from_state(state["forecaster"])
        test = OffMapTest.from_state(state["off_map_test"])
        if test.views.offset.shape != indices.scaler.offset.shape:
            raise ValueError("the views of the rows do not fit the scale")
        self._remember(indices, committee, forecaster, test)
        self._input_shape = tuple(int(size) for size in state["input_shape"])
        shape = self._input_shape
        if state.get("extractor") is not None:
            self._extractor = FeatureExtractor.from_state(state["extractor"])
            if self._extractor.input_shape != shape:
                raise ValueError("the shape of the inputs does not fit the backbone")
            shape = (self._extractor.n_features,)
        if shape != indices.module.flatten.input_shape:
            raise ValueError("the shape of the inputs does not fit the networks")
        if state.get("preparation") is not None:
            self._preparation = TablePreparation.from_dict(json.loads(state["preparation"]))
            if len(self._preparation.features) != self._input_shape[0]:
                raise ValueError("the preparation does not fit the inputs")
        if state.get("bounds") is not None:
            self._bounds = InputBounds.from_state(state["bounds"])
            if self._bounds.columns.low.shape != self._input_shape:
                raise ValueError("the bounds do not fit the inputs")
            if self._bounds.domains != indices.domain_map.index.domains:
                raise ValueError("the bounds do not fit the map")
        self._domain_column = state.get("domain_column")
        self._target_column = state.get("target_column")
        self.n_features_in_ = int(state["n_features_in"])
        if state["feature_names_in"]:
            self.feature_names_in_ = np.array(state["feature_names_in"], dtype=object)
        self.task_ = self._task
        self.domains_ = list(indices.domain_map.index.domains)
        self.source_domains_ = [self.domains_[number] for number in state["source_domains"]]
        self.off_map_domains_ = [self.domains_[number] for number in state["off_map_domains"]]
        self.timings_ = table_from_state(state["timings"])
        self._single_output = bool(state["single_output"])
        self.representation_ = str(state["representation"])
        self.candidates_ = table_from_state(state["candidates"])
        self.forecast_ = table_from_state(state["forecast"])
        self.history_ = table_from_state(state["history"])
        self.flow_, self.grid_flow_ = state["flow"], state.get("grid_flow")
        self._restore_record(state.get("record"))
        self.n_processes_ = 1
        self._require_working()

    def _restore_record(self, state: dict[str, Any] | None) -> None:
        """Models of before there was one have none."""
        self._record = None if state is None else FitRecord.from_state(state)
        n_fitted = len(self.domains_) - len(self.added_domains_)
        if self._record is not None and len(self._record.rows) != n_fitted:
            raise ValueError("the record of the fit does not fit the map")

    def _require_working(self) -> None:
        """That the parts fit each other: a row of a known domain has a finite prediction.

        Of classes, which are different ones, it has a probability each.
        """
        row = np.zeros((1, *self._input_shape))
        if self._extractor is not None:
            row = self._extractor.table(row)
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
        state["backbone"] = _backbone_parameters(self.backbone)
        state["predictor"] = _packed(self.predictor)
        if self.candidates is not None:
            pairs = [[name, _packed(predictor)] for name, predictor in self.candidates]
            state["candidates"] = {"pairs": pairs}
        if isinstance(state.get("class_weight"), Mapping):
            state["class_weight"] = {
                "items": [list(item) for item in state["class_weight"].items()]
            }
        return state


def _flow_facts(geometry: DomainGeometry, committee: Committee) -> dict[str, Any]:
    """What was chosen, in plain values."""
    selected, network = geometry.selected, committee.network
    followed = selected.around or selected
    return {
        "family": followed.flow.family,
        "n_components": followed.flow.n_components,
        "neighbors": list(selected.domain_map.neighbors),
        "around": selected.around is not None,
        "misfit": float(followed.misfit),
        "straightened": network is not None and network.is_straightened,
    }


def _grid_flow_facts(committee: Committee) -> dict[str, Any] | None:
    """How pictures or signals move along the map, where a member follows it."""
    for member in committee.members:
        if isinstance(member.representation, GridFlowAligned):
            flow, ring = member.representation.flow, member.representation.ring
            return {
                "family": flow.family,
                "trend": flow.trend.kind,
                "is_lit": flow.is_lit,
                "around": ring is not None,
            }
    return None


def _backbone_parameters(given: Any) -> Any:
    """A name as it is; settings as a dictionary, in which a module of the user's is left open."""
    if given is None or isinstance(given, str):
        return given
    backbone = as_backbone(given)
    assert backbone is not None
    parameters = backbone.get_params(deep=False)
    if backbone.weights is not None:
        parameters["weights"] = os.fspath(backbone.weights)
    return {**parameters, "module": backbone.module if backbone.name != OWN else None}


def _packed(predictor: Any) -> Any:
    """A name as it is, an estimator of the user's as bytes."""
    if isinstance(predictor, str):
        return predictor
    what = f"The predictor {type(predictor).__name__}"
    return {"packed": estimator_bytes(predictor, what)}


def _unpacked_pairs(pairs: list[Any]) -> list[tuple[str, Any]]:
    return [
        (str(name), estimator_from_bytes(**one) if isinstance(one, dict) else one)
        for name, one in pairs
    ]


def _unpacked_mapping(items: list[Any]) -> dict[Any, float]:
    """By pairs in the state, where keys of a dictionary are texts."""
    return dict(items)
