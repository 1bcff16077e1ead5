"""Variational domain indexing: what classifier and regressor share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from domindex.committee.candidates import build_candidates, choose_candidate
from domindex.committee.choice_settings import ChoiceSettings
from domindex.committee.fit_context import FitContext, fit_context
from domindex.committee.fitting_members import fit_network, fit_predictor
from domindex.committee.index_inference import (
    PAPER_LOCAL_DIM,
    infer_indices,
    infer_paper_indices,
)
from domindex.committee.members import Member, NetworkMember, member_from_state
from domindex.committee.predictors import Learner, learner_for
from domindex.data import DomainData
from domindex.data.domain_data import Task
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Floats, Names
from domindex.geometry import domain_graph
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.geometry.flow_selection import (
    DOMAINS_PER_NEIGHBOR,
    FEW_NEIGHBORS,
    MOST_NEIGHBORS,
)
from domindex.model.fitted_indices import FittedIndices
from domindex.model.module import PREDICTOR_RATE
from domindex.networks.alignments import AFFINE_RATE, FLOW_RATE
from domindex.persistence.estimator_bytes import estimator_bytes, estimator_from_bytes
from domindex.persistence.model_folder import save_model
from domindex.persistence.table_states import table_from_state, table_state
from domindex.representations import representation_named
from domindex.representations.map_rows import rows_for_map
from domindex.training.settings import Network, Training, TrainingSettings, require_counts
from domindex.training.straightening import STRAIGHTENING_RATE, STRAIGHTENING_STEPS, WARP_PRICE

if TYPE_CHECKING:
    from typing_extensions import Self

PAPER_TRAINING = {"steps": 1000, "starts": 2, "admission": 0.6}
"""The paper's model has to find an affine map that can end in a wrong turn: domains are admitted to
it one by one along the map, it takes twice the steps, and it gets a second chance. Found with the
accuracy on Circle, DG-15 and DG-60 in view."""


class BaseVDI(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DomainEstimator):
    """Variational domain indexing behind scikit-learn's interface."""

    _task: ClassVar[Task]

    def __init__(
        self,
        *,
        index_dim: int = 2,
        local_dim: int | None = None,
        flow: str | None = "auto",
        representation: str = "auto",
        predictor: Any = "auto",
        network: Network | None = None,
        training: Training | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.index_dim = index_dim
        self.local_dim = local_dim
        self.flow = flow
        self.representation = representation
        self.predictor = predictor
        self.network = network
        self.training = training
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def transform(self, X: Any) -> Floats:
        """The local index u of every row, (rows, local_dim): needs no domain."""
        return self._indices.local_indices(self._check_rows(X))

    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """What predictions are made from, (rows, size): the encoding z where a network predicts."""
        inputs, names = self._check_query(X, sample_domain)
        return self._member.encode(self._indices.placed(inputs, names), self._indices)

    def place_domains(self, X: Any, *, sample_domain: Any = None) -> dict[Any, Floats]:
        """Where the domains of these rows lie on the map, known or new: name to coordinates.

        New domains are placed by their inputs; the model does not change. Without
        `sample_domain` all rows are one new domain, named None.
        """
        return self._indices.place(*self._check_query(X, sample_domain))

    def domain_graph(self, **rule: Any) -> nx.Graph:
        """The domains that are close on the map, as a NetworkX graph.

        `rule` is one of threshold=, quantile= and n_neighbors=, as in `geometry.domain_graph`.
        """
        check_is_fitted(self)
        return domain_graph(self.domain_index_, **rule)

    def index_deviations(self, coordinates: Any) -> Floats:
        """The uncertainty of the map at points of it, (points, index_dim) in and out."""
        check_is_fitted(self)
        return self._indices.deviations(np.atleast_2d(np.asarray(coordinates, dtype=np.float64)))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, to be opened by `domindex.load`.

        Weights are kept as safetensors and everything else as JSON, so that opening it runs no
        code. An existing model is refused unless `overwrite`.
        """
        check_is_fitted(self)
        if not type(self).__module__.startswith("domindex."):
            raise InputError(
                f"The model is a {type(self).__name__}, and only VDIClassifier and VDIRegressor "
                "themselves can be saved. Use pickle, which keeps everything and runs code when "
                "opened."
            )
        save_model(self, path, overwrite=overwrite)

    def _fit_data(self, data: DomainData) -> None:
        network, training = self.network or Network(), self.training or Training()
        settings, seed = self._training_settings(training), self._seed()
        with fit_context(data, network, training, settings, seed, self.verbose) as context:
            indices, geometry = self._infer_indices(data, context)
            candidates = build_candidates(self.representation, data, geometry, context.choices)
            choice = choose_candidate(candidates, data, geometry, context.choices)
            member: Member
            learner = self._learner()
            if learner is None:
                member = fit_network(choice, data, geometry, indices, context)
            else:
                member = fit_predictor(learner, choice, data, seed)
        self._remember(indices, member)
        self.representation_ = choice.candidate.name
        self.candidates_ = choice.trials
        self.history_ = context.history.to_frame()
        self.flow_ = _flow_facts(geometry, member) if self.representation_ == "flow" else None

    def _infer_indices(
        self, data: DomainData, context: FitContext
    ) -> tuple[FittedIndices, DomainGeometry]:
        """Local indices, the map drawn from them, and, by default, the flow along it."""
        if self.flow is None:
            return infer_paper_indices(
                data, self.index_dim, self.local_dim, context, n_jobs=self.n_jobs
            )
        return infer_indices(data, self._solve_geometry(data, context), context)

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

    def _remember(self, indices: FittedIndices, member: Member) -> None:
        self._indices, self._member = indices, member
        self.domain_index_, self.domain_index_std_ = indices.index()
        self.domain_indices_ = self.domain_index_.coordinates
        self.domain_distances_ = indices.domain_map.transport
        self._n_features_out = indices.module.local_dim

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        return self._member.predict(self._indices.placed(inputs, names), self._indices).mean

    def _task_to_fit(self) -> Task:
        return self._task

    def _training_settings(self, training: Training) -> TrainingSettings:
        return training.settings(**(PAPER_TRAINING if self.flow is None else {}))

    def _check_parameters(self) -> None:
        if self.flow not in ("auto", None):
            raise InputError(f"flow is {self.flow!r}. Choose 'auto', or None for no flow.")
        require_counts(self, "index_dim")
        if self.local_dim is not None:
            require_counts(self, "local_dim")
        if self.representation != "auto":
            representation_named(self.representation)
        if self.flow is None and self.representation == "flow":
            raise InputError(
                "flow is None, so there is no flow for representation='flow' to follow. "
                "Choose flow='auto', or another representation."
            )
        self._learner()
        for name, kind in (("network", Network), ("training", Training)):
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                raise InputError(
                    f"{name} is {given!r}. Pass a domindex.{kind.__name__}, or None for defaults."
                )
        (self.network or Network()).check()
        (self.training or Training()).check()

    def _learner(self) -> Learner | None:
        """What learns on the chosen representation; None for the network."""
        if isinstance(self.predictor, str) and self.predictor in ("auto", "network"):
            return None
        return learner_for(self.predictor, self._task)

    def _all_settings(self) -> dict[str, Any]:
        """Everything settable that a fit depends on, in plain values."""
        network, training = self.network or Network(), self.training or Training()
        paper = {"local_dim": PAPER_LOCAL_DIM} if self.flow is None else {}
        return {
            **paper,
            "choices": asdict(ChoiceSettings()),
            "network": network.get_params(),
            "training": asdict(self._training_settings(training)),
            "weights": asdict(network.weights()),
            "neighbors": (*FEW_NEIGHBORS, MOST_NEIGHBORS, DOMAINS_PER_NEIGHBOR),
            "rates": (FLOW_RATE, AFFINE_RATE, PREDICTOR_RATE),
            "straightening": (STRAIGHTENING_STEPS, STRAIGHTENING_RATE, WARP_PRICE),
        }

    def state(self) -> dict[str, Any]:
        """The fitted model: plain values and arrays, nested."""
        return {
            "parameters": self._parameter_state(),
            "input_shape": list(self._input_shape),
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": [str(n) for n in getattr(self, "feature_names_in_", [])],
            "source_domains": [self.domains_.index(name) for name in self.source_domains_],
            "single_output": bool(self._single_output),
            "indices": self._indices.state(),
            "member": self._member.state(),
            "representation": self.representation_,
            "candidates": table_state(self.candidates_),
            "history": table_state(self.history_),
            "flow": self.flow_,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The model that `state` described; ValueError where that is damaged."""
        kinds: dict[str, Callable[..., Any]] = {
            "network": Network,
            "training": Training,
            "predictor": estimator_from_bytes,
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
        self._remember(indices, member_from_state(state["member"]))
        self._input_shape = tuple(int(size) for size in state["input_shape"])
        if self._input_shape != indices.module.backbone.input_shape:
            raise ValueError("the shape of the inputs does not fit the networks")
        self.n_features_in_ = int(state["n_features_in"])
        if state["feature_names_in"]:
            self.feature_names_in_ = np.array(state["feature_names_in"], dtype=object)
        self.task_ = self._task
        self.domains_ = list(indices.domain_map.index.domains)
        self.source_domains_ = [self.domains_[number] for number in state["source_domains"]]
        self._single_output = bool(state["single_output"])
        self.representation_ = str(state["representation"])
        self.candidates_ = table_from_state(state["candidates"])
        self.history_ = table_from_state(state["history"])
        self.flow_ = state["flow"]
        self._require_working()

    def _require_working(self) -> None:
        """That the parts fit each other: a row of a known domain has a finite prediction."""
        row = np.zeros((1, *self._input_shape))
        if not np.isfinite(self._predict_mean(row, self.domains_[:1])).all():
            raise ValueError("it predicts NaN")

    def _parameter_state(self) -> dict[str, Any]:
        """Constructor arguments; settings objects as dictionaries of theirs."""
        state = {
            name: value.get_params() if isinstance(value, (Network, Training)) else value
            for name, value in self.get_params(deep=False).items()
        }
        if not isinstance(self.predictor, str):
            what = f"The predictor {type(self.predictor).__name__}"
            state["predictor"] = {"packed": estimator_bytes(self.predictor, what)}
        return state


def _flow_facts(geometry: DomainGeometry, member: Member) -> dict[str, Any]:
    """What was chosen, in plain values."""
    selected = geometry.selected
    return {
        "family": selected.flow.family,
        "n_components": selected.flow.n_components,
        "neighbors": list(selected.domain_map.neighbors),
        "misfit": float(selected.misfit),
        "straightened": isinstance(member, NetworkMember) and member.is_straightened,
    }
