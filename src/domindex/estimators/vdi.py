"""The paper's model behind scikit-learn's interface."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from domindex.arrays import Floats
from domindex.committee.committee import Prediction
from domindex.committee.context import FitContext, Workers, fit_context
from domindex.committee.fitted_indices import FittedIndices
from domindex.committee.record import FitRecord
from domindex.errors import InputError
from domindex.estimators.base import Names
from domindex.estimators.fitted import MappedEstimator, MappedRegressor, warn_of_collapse
from domindex.estimators.frames import FitArguments, warn_off_map
from domindex.estimators.streaming import streams
from domindex.export.program import VariationalProgram, build_variational_program
from domindex.geometry.domain_geometry import DomainGeometry, scaled_clouds
from domindex.geometry.domain_map import DomainMap
from domindex.geometry.off_map import OffMapTest
from domindex.inputs import DomainData
from domindex.inputs.domain_data import Task
from domindex.inputs.parameters import (
    MAX_DIMENSIONS,
    check_running,
    require_counts,
    require_numbers,
    require_texts,
)
from domindex.inputs.standardizing import InputScaler, OutputScaler
from domindex.neural.backbones import as_backbone
from domindex.neural.batches import TrainingRows
from domindex.neural.settings import Training, TrainingSettings, find_device
from domindex.neural.weights import Sizes, count, counts, network_from_state, network_state
from domindex.persistence.stage_cache import StageCache
from domindex.representations import PlacedRows
from domindex.vdi.adversary import KINDS, Adversary, labels_depend_on_source
from domindex.vdi.aggregation import AGGREGATIONS, as_clouds
from domindex.vdi.learning import IndexRefresh, encode_domain, pretrain, train_model
from domindex.vdi.model import ModelSizes, TermWeights, VariationalModel
from domindex.vdi.networks import (
    OUTPUT_PREDICTORS,
    ClassPredictor,
    LocalIndexEncoder,
    ValuePredictor,
)
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


@dataclass(frozen=True, eq=False)
class VariationalIndices(FittedIndices):
    """The indices that the paper's model inferred: places for any domain."""

    module: VariationalModel  # type: ignore[assignment]
    aggregation: str = "sliced"

    def local_indices(self, inputs: NDArray) -> Floats:
        with torch.no_grad():
            rows = torch.tensor(self.scaler.apply_flat(inputs), dtype=torch.float64)
            return self.module.local_posterior(rows).mean.numpy()

    def _clouds(self, inputs: NDArray, groups: Sequence[NDArray[np.int64]]) -> list[Floats]:
        return as_clouds(super()._clouds(inputs, groups), self.aggregation)

    @property
    def local_dim(self) -> int:
        return self.module.sizes.local_dim

    def takes(self, shape: tuple[int, ...]) -> bool:
        return int(np.prod(shape)) == self.module.sizes.n_features

    def state(self) -> dict[str, Any]:
        module = self.module
        predictor = {"kind": module.predictor.name, **module.predictor.sizes}
        sizes = {"model": asdict(module.sizes), "predictor": predictor}
        return {
            "scaler": self.scaler.state(),
            "module": network_state(module, sizes),
            "domain_map": self.domain_map.state(),
            "aggregation": self.aggregation,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        made = cls(
            InputScaler.from_state(state["scaler"]),
            network_from_state(_build_module, state["module"]),
            DomainMap.from_state(state["domain_map"]),
            state["aggregation"],
        )
        made._check_state()
        return made

    def _check_state(self) -> None:
        sizes = self.module.sizes
        self._check_sizes(sizes.n_features, sizes.local_dim, sizes.index_dim)
        if self.aggregation not in AGGREGATIONS:
            raise ValueError(f"the aggregation is {self.aggregation!r:.40}")


def _build_module(sizes: Sizes) -> VariationalModel:
    """The networks of these sizes; ValueError where sizes are damaged."""
    hints, given = get_type_hints(ModelSizes), dict(sizes["model"])
    for name, value in given.items():
        if hints[name] is int:
            count(given, name)
        elif type(value) is not hints[name]:
            raise ValueError(f"{name} is {value!r:.40}")
    predictor = dict(sizes["predictor"])
    kind: Any = OUTPUT_PREDICTORS[predictor.pop("kind")]
    return VariationalModel(ModelSizes(**given), kind(**counts(predictor)))


class VariationalEstimator(MappedEstimator):
    """What the paper's classifier and regressor share."""

    _parts: ClassVar[dict[str, Any]] = {
        **MappedEstimator._parts,
        "indices": VariationalIndices,
        "outputs": OutputScaler,
    }
    _needs_targets = True
    _indices: VariationalIndices
    _outputs: OutputScaler | None = None

    def __init__(
        self,
        *,
        index_dim: int = 2,
        local_dim: int | None = None,
        latent_dim: int | None = None,
        width: int = 128,
        aggregation: str = "mean",
        adversary: str | None = "auto",
        adversary_weight: float = 2.0,
        input_weight: float = 10.0,
        label_weight: float = 1.0,
        local_weight: float = 0.05,
        entropy_weight: float = 0.1,
        prior_weight: float = 0.1,
        encoding_weight: float = 1.0,
        contrastive_weight: float = 0.1,
        prior: str = "tied",
        encoder: str = "network",
        local_index: str = "network",
        geodesics: bool = False,
        smoothness_weight: float = 0.0,
        strain_weight: float = 0.0,
        pretraining_steps: int = 200,
        steps: int = 800,
        refresh_every: int = 50,
        admission: float = 0.6,
        index_rate: float = 0.1,
        motion_decay: float = 2.0,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        backbone: Any = None,
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
        self.smoothness_weight = smoothness_weight
        self.strain_weight = strain_weight
        self.pretraining_steps = pretraining_steps
        self.steps = steps
        self.refresh_every = refresh_every
        self.admission = admission
        self.index_rate = index_rate
        self.motion_decay = motion_decay
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.backbone = backbone
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
    def encode(self, X: Any, *, sample_domain: Any = None) -> Floats:
        """The mean of the encoding z of every row, (rows, latent_dim).

        Examples
        --------
        >>> vdi.encode(data.X, **rows).shape
        (100, 32)
        """
        return self._encode(self._indices.placed(*self._check_query(X, sample_domain, warn=True)))

    def summary(self) -> str:
        """What predicts, and what is not known of it, in words.

        Examples
        --------
        >>> vdi.summary().splitlines()[0]
        "Predictions: VDIClassifier, the paper's model, alone."
        """
        check_is_fitted(self)
        other = type(self).__name__.replace("VDI", "CrossDomain")
        no_adversary = (
            "It was fitted without an adversary: labels differ from source to source, and no "
            "encoding that hides the domain could predict them.\n"
        )
        left_out = self.adversary == "auto" and "adversary" not in self.history_
        return (
            f"Predictions: {type(self).__name__}, the paper's model, alone.\n"
            f"{no_adversary if left_out else ''}"
            "No source was held out while it was fitted, so there is no forecast of how well it "
            f"predicts in the targets. {other} forecasts; or compare with labels once there are "
            "some."
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Iterable[Hashable] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from all inputs and the sources' labels.

        Parameters
        ----------
        X, y, sample_domain, source_domains, checkpoint : as in `CrossDomainClassifier.fit`

        Examples
        --------
        >>> vdi.source_domains_
        [0, 1, 2]
        """
        given = FitArguments(X, y, sample_domain, source_domains)
        with (
            StageCache.open(checkpoint) as stages,
            self._copy_to_fit(given, stages) as (model, data),
        ):
            model._fit_data(data)
        return self

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if (self._outputs is None) != (self.task_ == "classification"):
            raise ValueError("the scale of the values does not fit the task")

    def _fit_data(self, data: DomainData) -> None:
        settings = TrainingSettings(
            index_steps=self.pretraining_steps,
            steps=self.steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )
        scaler, self._outputs = InputScaler.fit(data), None
        if data.task == "regression":
            self._outputs = OutputScaler.fit(data.labels[data.row_is_source])
        given = Training(device=self.device), settings, self._begin(data), self.verbose
        with (
            fit_context(data, Network(width=self.width), *given, stages=self._stages) as context,
            context.timings.stage("training"),
        ):
            stored = context.load_stage("model")
            if stored is None:
                indices = self._train(data, scaler, context)
                context.store_stage("model", {"indices": indices.state()})
            else:
                indices = VariationalIndices.from_state(stored["indices"])
        self.history_ = context.history.to_frame()
        self._set_fitted(indices)
        with context.timings.stage("explaining"):
            self._describe(data)
        self.timings_ = context.timings.table()

    def _train(
        self, data: DomainData, scaler: InputScaler, context: FitContext
    ) -> VariationalIndices:
        """First u alone, then everything."""
        settings, weights = context.training, self._term_weights()
        rows = TrainingRows.of(data, scaler.apply_flat(data.inputs), context.device)
        if self._outputs is not None:
            rows = rows.with_labels(self._outputs.apply(data.labels))
        with context.torch_rng.as_default():
            module = self._build(data)
            adversary = self._build_adversary(module.sizes, data)
        neighbors = (3,) if self.geodesics else ()
        how = self.aggregation, neighbors, self.refresh_every
        chance = context.rng, context.torch_rng
        refresh = IndexRefresh(
            module,
            rows,
            *how,
            *chance,
            settings,
            self.admission,
            self.index_rate,
            self.motion_decay,
        )
        stored = context.load_stage("pretraining")
        if stored is None:
            pretrain(refresh, weights, context.trainer)
            context.store_stage("pretraining", refresh.state())
        else:
            refresh.restore(stored)
        trained = train_model(refresh, weights, adversary, context.trainer)
        return VariationalIndices(scaler, *trained, self.aggregation)

    def _describe(self, data: DomainData) -> None:
        """What is known of the domains' inputs: who is off the map, and how columns differ."""
        clouds = scaled_clouds(data, self._indices.scaler)
        self._off_map_test = OffMapTest.fit(data.domains, clouds, np.zeros((clouds[0].shape[1], 0)))
        names = self._column_names(data)
        self._record = FitRecord.of(None, None, data, names, 0, Workers(None, 1))
        rows = PlacedRows.of_map(data, self._indices.domain_map)
        some = rows.only({one.name for one in rows.domains[:3]})
        warn_of_collapse(self.domain_indices_, self._encode(some))

    def _build(self, data: DomainData) -> VariationalModel:
        n_features, most = data.inputs[0].size, self.latent_dim or 0
        if self.encoder == "affine" and most > n_features:
            raise InputError(
                f"latent_dim is {most}, and an affine map of {n_features} features has no more "
                "components than these. Choose fewer, or encoder='network'."
            )
        sizes = ModelSizes(
            n_features,
            self.local_dim or 12,
            self.index_dim,
            self.latent_dim or (min(n_features, 16) if self.encoder == "affine" else 32),
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

    def _build_adversary(self, sizes: ModelSizes, data: DomainData) -> Adversary | None:
        kinds = self.adversary
        if kinds == "auto":
            kinds = None if labels_depend_on_source(data) else "graph+domain"
        if kinds is None:
            return None
        given = kinds.split("+"), sizes.latent_dim, data.n_domains, sizes.index_dim, sizes.width
        return Adversary(*given)

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

    def _encode(self, rows: PlacedRows) -> Floats:
        module, scaled = self._indices.module, self._indices.scaler.apply_flat(rows.inputs)
        z = np.empty((len(scaled), module.sizes.latent_dim))
        for domain in rows.domains:
            z[domain.rows] = encode_domain(module, scaled[domain.rows], domain.place).numpy()
        return z

    def _predict(self, inputs: NDArray, names: Names) -> Prediction:
        rows = self._indices.placed(inputs, names)
        warn_off_map(self._flag(rows))
        with torch.no_grad():
            predicted: Any = self._indices.module.predict(torch.tensor(self._encode(rows)))
        if self._outputs is None:
            return Prediction(predicted.probs.numpy())
        mean = self._outputs.restore(predicted.mean.numpy())
        return Prediction(mean, predicted.stddev.numpy() * self._outputs.scale)

    def _program(self) -> VariationalProgram:
        given = self._outputs, self._indices, self._extractor, self._bounds, self._columns
        return build_variational_program(self._indices.module, *given)

    def _check_parameters(self) -> None:
        check_running(self)
        require_counts(self, "index_dim", most=MAX_DIMENSIONS)
        optional = [name for name in ("local_dim", "latent_dim") if getattr(self, name) is not None]
        require_counts(self, "width", "steps", "refresh_every", "batch_size", *optional)
        weights = [name for name in self.get_params() if name.endswith("_weight")]
        rates = "admission", "index_rate", "motion_decay"
        require_numbers(self, "pretraining_steps", *rates, *weights)
        require_numbers(self, "learning_rate", above_zero=True)
        if self.admission > 1:
            raise InputError(f"admission is {self.admission}. Choose a share from 0 to 1.")
        adversary = [] if self.adversary is None else ["adversary"]
        require_texts(self, *CHOICES, *adversary)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise InputError(f"{name} is {getattr(self, name)!r}. Choose one of {known}.")
        kinds = [] if self.adversary in (None, "auto") else self.adversary.split("+")
        if any(kind not in KINDS for kind in kinds):
            raise InputError(
                f"adversary is {self.adversary!r}. Choose 'auto', one of {KINDS}, several joined "
                "by '+', or None."
            )
        find_device(self.device)
        backbone = as_backbone(self.backbone)
        if backbone is not None and not backbone.frozen:
            other = type(self).__name__.replace("VDI", "CrossDomain")
            raise InputError(
                f"{backbone.title} is to be trained, and {type(self).__name__} takes features of a "
                "frozen one only. Pass Backbone(MODULE, frozen=True), a built-in one with "
                f"weights=PATH; {other} trains backbones."
            )


class VDIClassifier(VariationalEstimator):
    """Variational domain indexing as the paper has it, for classes.

    Infers a local index u of every row and a global index β of every domain, encodes rows into a z
    that says nothing of the domain, and predicts from z. For the best predictions take
    `CrossDomainClassifier`; this is the paper's model, to be laid beside it.

    Parameters
    ----------
    index_dim : components of the global index β
    local_dim : components of the local index u; None is 12
    latent_dim : components of z; None is 32
    width : size of hidden layers
    aggregation : from u to the raw index: distances between the "mean" of u of each domain, as the
        authors take them on Circle, or "sliced", "exact" or "sinkhorn" transport; then scaling
    adversary : what the discriminator reads off z: the "domain", its "index", or the "graph" of
        domains that are close; several joined by "+", or None. "auto" is "graph+domain", and None
        where the sources' labels differ from source to source by more than chance: no z that hides
        the domain predicts those
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
    smoothness_weight : a named option: how little predictions may change with a neighbour's β
    strain_weight : a named option: how little the affine map may stretch
    pretraining_steps, steps : of q(u|x) and p(x|u) alone, then of everything
    refresh_every : steps between two drawings of the raw index
    admission : share of the steps after which every target takes part in the adversary, nearest to
        the sources first; 0 lets all take part from the start
    index_rate : how fast u and β go on learning once z does, as a share of `learning_rate`; 0 holds
        them where the first phase left them, so that no label reaches them
    motion_decay : how fast the weights by which β moves x decay to 0, where x stays as it is
    batch_size : rows of each domain in a step
    learning_rate : its peak
    backbone : a frozen `Backbone`, whose features of pictures or signals stand for x
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


class VDIRegressor(VariationalEstimator, MappedRegressor):
    """Variational domain indexing as the paper has it, for values: see `VDIClassifier`.

    Examples
    --------
    >>> from domindex import VDIRegressor
    >>> VDIRegressor.preset("tpt-48-w-e").aggregation
    'sinkhorn'
    """

    def _task_to_fit(self) -> Task:
        return "regression"
