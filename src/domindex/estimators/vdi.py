"""The paper's model behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch.distributions import Categorical

from domindex.arrays import Floats
from domindex.committee.context import fit_context
from domindex.errors import InputError
from domindex.estimators.base import DomainEstimator, Names
from domindex.estimators.streaming import streams
from domindex.geometry import domain_graph
from domindex.geometry.domain_geometry import DomainGeometry
from domindex.inputs import DomainData, group_rows
from domindex.inputs.domain_data import Task
from domindex.inputs.parameters import (
    MAX_DIMENSIONS,
    check_running,
    require_counts,
    require_numbers,
    require_texts,
)
from domindex.inputs.standardizing import InputScaler, OutputScaler
from domindex.neural.batches import TrainingRows
from domindex.neural.settings import Training, TrainingSettings, find_device
from domindex.vdi.adversary import KINDS, Adversary
from domindex.vdi.aggregation import AGGREGATIONS, locate
from domindex.vdi.learning import IndexRefresh, encode_domain, train_model
from domindex.vdi.model import ModelSizes, TermWeights, VariationalModel
from domindex.vdi.networks import ClassPredictor, LocalIndexEncoder, ValuePredictor
from domindex.vdi.presets import find_preset
from domindex.vdi.settings import Network

if TYPE_CHECKING:
    from typing_extensions import Self

CHOICES = {
    "aggregation": AGGREGATIONS,
    "encoder": ("network", "affine"),
    "local_index": ("network", "projection"),
    "prior": ("tied", "network"),
}


class VariationalEstimator(TransformerMixin, DomainEstimator):
    """What the paper's classifier and regressor share."""

    def __init__(
        self,
        *,
        index_dim: int = 2,
        local_dim: int | None = None,
        latent_dim: int | None = None,
        width: int = 64,
        aggregation: str = "sliced",
        adversary: str | None = "graph",
        adversary_weight: float = 2.0,
        input_weight: float = 1.0,
        label_weight: float = 1.0,
        local_weight: float = 0.1,
        entropy_weight: float = 0.1,
        prior_weight: float = 0.1,
        encoding_weight: float = 1.0,
        contrastive_weight: float = 0.1,
        prior: str = "tied",
        encoder: str = "network",
        local_index: str = "network",
        geodesics: bool = False,
        blocks: bool = False,
        smoothness_weight: float = 0.0,
        strain_weight: float = 0.0,
        pretraining_steps: int = 150,
        steps: int = 900,
        refresh_every: int = 50,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        device: str = "cpu",
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.index_dim = index_dim
        self.local_dim = local_dim
        self.latent_dim = latent_dim
        self.width = width
        self.aggregation = aggregation
        self.adversary = adversary
        self.adversary_weight = adversary_weight
        self.input_weight = input_weight
        self.label_weight = label_weight
        self.local_weight = local_weight
        self.entropy_weight = entropy_weight
        self.prior_weight = prior_weight
        self.encoding_weight = encoding_weight
        self.contrastive_weight = contrastive_weight
        self.prior = prior
        self.encoder = encoder
        self.local_index = local_index
        self.geodesics = geodesics
        self.blocks = blocks
        self.smoothness_weight = smoothness_weight
        self.strain_weight = strain_weight
        self.pretraining_steps = pretraining_steps
        self.steps = steps
        self.refresh_every = refresh_every
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """With the settings of the paper's authors for one of their datasets.

        `name` is "circle", "dg-15", "dg-60", "tpt-48-w-e" or "tpt-48-n-s"; `changes` are other
        parameters, such as the seed.

        Examples
        --------
        >>> from domindex import VDIClassifier
        >>> VDIClassifier.preset("dg-15", random_state=0).adversary_weight
        0.6
        """
        return cls(**{**find_preset(name), **changes})

    @streams
    def transform(self, X: Any) -> Floats:
        """The local index u of every row, (rows, local_dim): needs no domain.

        Examples
        --------
        >>> vdi.transform(data.X).shape
        (100, 2)
        """
        return self._local(self._scaler.apply_flat(self._check_rows(X)))

    @streams
    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """The mean of the encoding z of every row, (rows, latent_dim).

        Examples
        --------
        >>> vdi.encode(data.X, **rows).shape
        (100, 2)
        """
        return self._encode(*self._check_query(X, sample_domain, warn=True))

    def domain_graph(self, **rule: Any) -> nx.Graph:
        """The domains that are close on the map, as a NetworkX graph.

        `rule` is one of threshold=, quantile= and n_neighbors=, as in `geometry.domain_graph`.

        Examples
        --------
        >>> len(vdi.domain_graph(quantile=0.5).edges)
        5
        """
        check_is_fitted(self)
        return domain_graph(self.domain_index_, **rule)

    def _fit_data(self, data: DomainData) -> None:
        settings = TrainingSettings(
            index_steps=self.pretraining_steps,
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )
        self._scaler, self._outputs = InputScaler.fit(data), None
        scaled = self._scaler.apply_flat(data.inputs)
        training = Training(device=self.device)
        with fit_context(
            data, Network(width=self.width), training, settings, self._seed(), self.verbose
        ) as context:
            rows = TrainingRows.of(data, scaled, context.device)
            if data.task == "regression":
                self._outputs = OutputScaler.fit(data.labels[data.row_is_source])
                rows = rows.with_labels(self._outputs.apply(data.labels))
            with context.torch_rng.as_default():
                module = self._build(data)
                adversary = self._build_adversary(module.sizes, data.n_domains)
            neighbors = (3,) if self.geodesics else ()
            how = self.aggregation, neighbors, self.refresh_every
            refresh = IndexRefresh(module, rows, *how, context.rng, context.torch_rng, settings)
            self._module, self._raw = train_model(
                refresh, self._term_weights(), adversary, context.trainer, self.blocks
            )
        self.history_ = context.history.to_frame()
        self._set_index()

    def _set_index(self) -> None:
        """β: the means and deviations of q(β|u) at the raw index of every domain."""
        with torch.no_grad():
            index = self._module.index_encoder(torch.tensor(self._raw.coordinates))
        self.domain_indices_ = index.mean.numpy()
        self.domain_index_std_ = index.stddev.numpy()
        self.domain_index_ = replace(self._raw.index, coordinates=self.domain_indices_)
        self._places = dict(zip(self._raw.index.domains, self._raw.coordinates))

    def _build(self, data: DomainData) -> VariationalModel:
        n_features = data.inputs[0].size
        sizes = ModelSizes(
            n_features,
            self.local_dim or min(n_features, 4),
            self.index_dim,
            self.latent_dim or min(n_features, 16),
            self.width,
            affine=self.encoder == "affine",
            tied=self.prior == "tied",
            projection=self.local_index == "projection",
        )
        if data.classes is None:
            module = VariationalModel(sizes, ValuePredictor(sizes.latent_dim, data.labels.shape[1]))
        else:
            module = VariationalModel(sizes, ClassPredictor(sizes.latent_dim, len(data.classes)))
        if isinstance(module.local_encoder, LocalIndexEncoder):
            geometry = DomainGeometry.fit(data, self.index_dim)
            matrix = geometry.projection.matrix[:, : sizes.local_dim]
            padded = np.zeros((n_features, sizes.local_dim))
            padded[:, : matrix.shape[1]] = matrix
            module.local_encoder.start_at(padded)
        return module

    def _build_adversary(self, sizes: ModelSizes, n_domains: int) -> Adversary | None:
        if self.adversary is None:
            return None
        kinds = self.adversary.split("+")
        return Adversary(kinds, sizes.latent_dim, n_domains, sizes.index_dim, sizes.width)

    def _term_weights(self) -> TermWeights:
        return TermWeights(
            input_reconstruction=self.input_weight,
            label_prediction=self.label_weight,
            local_index_reconstruction=self.local_weight,
            local_index_entropy=self.entropy_weight,
            global_index_divergence=self.prior_weight,
            encoding_divergence=self.encoding_weight,
            contrastive=self.contrastive_weight,
            adversary=self.adversary_weight,
            smoothness=self.smoothness_weight,
            strain=self.strain_weight,
        )

    def _local(self, scaled: Floats) -> Floats:
        with torch.no_grad():
            rows = torch.tensor(scaled, dtype=torch.float64)
            return self._module.local_posterior(rows).mean.numpy()

    def _encode(self, inputs: NDArray, names: Names) -> Floats:
        scaled = self._scaler.apply_flat(inputs)
        z = np.empty((len(scaled), self._module.sizes.latent_dim))
        for name, rows in group_rows(names, len(scaled)):
            place = self._place(name, scaled[rows])
            z[rows] = encode_domain(self._module, scaled[rows], place).numpy()
        return z

    def _place(self, name: Hashable | None, scaled: Floats) -> Floats:
        """The raw index of a domain; of one never seen, by its rows."""
        if name in self._places:
            return self._places[name]
        return locate(self._raw, self._local(scaled), self.aggregation)

    def _predict_mean(self, inputs: NDArray, names: Names) -> Floats:
        with torch.no_grad():
            predicted = self._module.predict(torch.tensor(self._encode(inputs, names)))
        mean = predicted.probs if isinstance(predicted, Categorical) else predicted.mean
        values = mean.numpy()
        return values if self._outputs is None else self._outputs.restore(values)

    def _check_parameters(self) -> None:
        check_running(self)
        require_counts(self, "index_dim", most=MAX_DIMENSIONS)
        optional = [name for name in ("local_dim", "latent_dim") if getattr(self, name) is not None]
        require_counts(self, "width", "steps", "refresh_every", "batch_size", *optional)
        weights = [name for name in self.get_params() if name.endswith("_weight")]
        require_numbers(self, "pretraining_steps", *weights)
        require_numbers(self, "learning_rate", above_zero=True)
        adversary = [] if self.adversary is None else ["adversary"]
        require_texts(self, *CHOICES, *adversary)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}. Choose one of {known}.")
        kinds = [] if self.adversary is None else self.adversary.split("+")
        if any(kind not in KINDS for kind in kinds):
            raise InputError(
                f"adversary is {self.adversary!r}. Choose one of {KINDS}, several joined by '+', "
                "or None."
            )
        find_device(self.device)


class VDIClassifier(VariationalEstimator):
    """Variational domain indexing as the paper has it, for classes.

    Infers a local index u of every row and a global index β of every domain, encodes rows into a z
    that says nothing of the domain, and predicts from z. For the best predictions take
    `CrossDomainClassifier`; this is the paper's model, to be laid beside it.

    Parameters
    ----------
    index_dim : components of the global index β
    local_dim : components of the local index u; None is 4, or the features where they are fewer
    latent_dim : components of z; None is 16, or the features where they are fewer
    width : size of hidden layers
    aggregation : from u to the raw index: "sliced", "exact" or "sinkhorn" transport and scaling, or
        the "mean" of u
    adversary : what the discriminator reads off z: the "domain", its "index", or the "graph" of
        domains that are close; several joined by "+", or None
    adversary_weight : λ_d of the paper; each discriminator's loss is 1 where it can only guess
    input_weight, label_weight : of E[log p(x|u)] and of E[log p(y|z)]
    local_weight, entropy_weight : of E[log p(u|β)] and of −E[log q(u|x)]
    prior_weight, encoding_weight : of KL[q(β|u) ‖ p(β)] and of KL[q(z|x,u,β) ‖ p(z|x,u,β)]
    contrastive_weight : of the loss that lets u of one domain agree (the paper's appendix)
    prior : p(z|x,u,β) is "tied" to q(z|x,u,β), or a "network" of its own
    encoder : "network", or the named option "affine": z is an affine map of x that β chooses
    local_index : "network", or the named option "projection": q(u|x) starts at the directions along
        which the domains differ
    geodesics : a named option: distances between domains along a graph of near ones
    blocks : a named option: u and β are held still while z learns
    smoothness_weight : a named option: how little predictions may change with a neighbour's β
    strain_weight : a named option: how little the affine map may stretch
    pretraining_steps, steps : of q(u|x) and p(x|u) alone, then of everything
    refresh_every : steps between two drawings of the raw index
    batch_size : rows of each domain in a step
    learning_rate : its peak
    device : as in `Training`
    verbose : 1 shows progress bars
    random_state : seed; the same seed gives the same model

    Attributes
    ----------
    classes_ : class labels, in the order of the columns of `predict_proba`
    domains_, source_domains_ : names of all domains, and of those with labels
    domain_indices_, domain_index_std_ : (domains, index_dim), means and deviations of β
    domain_index_ : the means as a `DomainIndex`
    history_ : DataFrame, a row per epoch and a column per term of the objective

    Examples
    --------
    >>> from domindex import VDIClassifier
    >>> vdi = VDIClassifier(pretraining_steps=5, steps=5, random_state=0)
    >>> vdi.fit(data.X, data.y, **rows, source_domains=[0, 1, 2]).domain_indices_.shape
    (5, 2)
    """

    def _task_to_fit(self) -> Task:
        return "classification"


class VDIRegressor(VariationalEstimator):
    """Variational domain indexing as the paper has it, for values: see `VDIClassifier`.

    Examples
    --------
    >>> from domindex import VDIRegressor
    >>> VDIRegressor.preset("tpt-48-w-e").aggregation
    'sinkhorn'
    """

    def _task_to_fit(self) -> Task:
        return "regression"
