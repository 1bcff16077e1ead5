"""Whether what was inferred is a domain index by the paper's definition: with some encoding z,
(1) β and z are independent, (2) u, β and z keep the information on x, (3) z that on y. Fresh models
read information on rows they were not trained on, so each figure is a bound from below."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp
from scipy.stats import sem
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.covariance import ledoit_wolf
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from domindex.arrays import Floats, Ints
from domindex.committee.context import one_thread
from domindex.errors import InputError
from domindex.inputs import check_domain_names, check_inputs, group_rows
from domindex.inputs.gate import check_label_array, encode_classes, encode_values, hidden_marks
from domindex.inputs.messages import preview
from domindex.inputs.names import number_names

MIN_PER_CLASS = 6  # so that a class is in every fold, and in both parts of what a fold trains on
MIN_ROWS = 30  # below, cross-validated figures mean nothing


@dataclass(frozen=True)
class ClassProbe:
    """How well classes can be predicted from features, cross-validated.

    `chance` is the accuracy of always guessing the commonest class, `information` a lower bound on
    I(class; features) in nats, and `ceiling` the entropy of the classes, which it cannot exceed.

    Examples
    --------
    >>> probe = ClassProbe(0.9, chance=0.5, information=0.4, standard_error=0.05, ceiling=0.69)
    >>> probe.accuracy - probe.chance
    0.4
    """

    accuracy: float
    chance: float
    information: float
    standard_error: float
    ceiling: float


@dataclass(frozen=True)
class ValueProbe:
    """How well values can be predicted from features, cross-validated.

    `r2` of 0 or less is chance. `information` is a lower bound on I(values; features) in nats, and
    `ceiling` the most that the number of rows could show.

    Examples
    --------
    >>> ValueProbe(0.8, information=1.2, standard_error=0.1, ceiling=3.0).r2
    0.8
    """

    r2: float
    information: float
    standard_error: float
    ceiling: float


def probe_classes(labels: Any, features: Any, *, random_state: int = 0) -> ClassProbe:
    """Predict classes from features, cross-validated over rows.

    Barber and Agakov's bound I(c; f) ≥ H(c) + E[log q(c|f)]. q is a linear or a quadratic logistic
    model or a small neural network, whichever does best on held-back rows. Its confidence t is set
    there too: q ∝ p(c)^(1−t) model(c|f)^t, so that noise counts as zero. Every class needs 6 rows.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe = probe_classes(features[:, 0] > 0, features)
    >>> probe.accuracy > probe.chance
    True
    """
    columns = _check_features(features, random_state)
    numbers = _check_classes(labels, len(columns))
    scores = np.empty((len(numbers), numbers.max() + 1))
    folds = StratifiedKFold(3, shuffle=True, random_state=random_state)
    with _quiet():
        for train, test in folds.split(columns, numbers):
            known = columns[train], numbers[train]
            scores[test] = _class_scores(*known, columns[test], random_state)
    shares = np.bincount(numbers) / len(numbers)
    ceiling = float(-(shares * np.log(shares)).sum())
    likelihoods = scores[np.arange(len(numbers)), numbers]
    return ClassProbe(
        accuracy=float((scores.argmax(axis=1) == numbers).mean()),
        chance=float(shares.max()),
        information=max(0.0, ceiling + float(likelihoods.mean())),
        standard_error=float(sem(likelihoods, ddof=0)),
        ceiling=ceiling,
    )


def probe_values(values: Any, features: Any, *, random_state: int = 0) -> ValueProbe:
    """Predict values from features, cross-validated over rows.

    A ridge regression, with quadratic and radial terms if they help, gives q(v|f) = N(μ(f), Σ).
    On rows that it has not seen, in blocks of K up to 1000, the contrastive bound
    I(v; f) ≥ E[log q(vᵢ|fᵢ) − log (1/K) Σⱼ q(vᵢ|fⱼ)] needs no density of v; it is at most log K.
    Errors of several outputs are added up: bring them to one scale.

    Examples
    --------
    >>> features = np.random.default_rng(0).normal(size=(60, 2))
    >>> probe_values(features[:, 0] + features[:, 1], features).r2 > 0.9
    True
    """
    columns = _check_features(features, random_state)
    array = np.asarray(values)
    array = check_inputs(array[:, None] if array.ndim == 1 else array, "values")
    if len(array) != len(columns):
        raise InputError(
            f"values has {len(array)} rows, but features has {len(columns)}. "
            "Pass one value per row."
        )
    outputs = array.reshape(len(array), -1).astype(np.float64)
    if not np.ptp(outputs, axis=0).any():
        raise InputError("values is the same in every row, so there is nothing to explain.")
    residuals, spread = np.empty_like(outputs), np.empty_like(outputs)
    contrasts, ceiling = np.empty(len(outputs)), np.empty(len(outputs))
    with _quiet():
        for train, test in KFold(3, shuffle=True, random_state=random_state).split(columns):
            model = _fit_regression(columns[train], outputs[train], random_state)
            predicted = model.predict(columns[test]).reshape(outputs[test].shape)
            residuals[test] = outputs[test] - predicted
            spread[test] = outputs[test] - outputs[train].mean(axis=0)
            whiten = _error_whitening(columns[train], outputs[train], random_state)
            for block in np.array_split(np.arange(len(test)), -(-len(test) // 1000)):
                rows = test[block]
                pair = outputs[rows] @ whiten, predicted[block] @ whiten
                found = -0.5 * cdist(*pair, "sqeuclidean")  # log q(vᵢ|fⱼ), but for a constant
                contrasts[rows] = np.diag(found) - logsumexp(found, axis=1) + np.log(len(rows))
                ceiling[rows] = np.log(len(rows))
    return ValueProbe(
        r2=float(1.0 - (residuals**2).sum() / (spread**2).sum()),
        information=max(0.0, float(contrasts.mean())),
        standard_error=float(sem(contrasts, ddof=0)),
        ceiling=float(ceiling.mean()),
    )


def best_linear_r2(values: Any, n_components: int, *, random_state: int = 0) -> float:
    """Held-out R² of the best linear summary of `values` with so many numbers per row."""
    columns = _check_features(values, random_state)
    if n_components >= columns.shape[1]:
        return 1.0
    lost = total = 0.0
    with _quiet():
        for train, test in KFold(3, shuffle=True, random_state=random_state).split(columns):
            size = min(n_components, len(train))
            summary = PCA(size, random_state=random_state).fit(columns[train])
            restored = summary.inverse_transform(summary.transform(columns[test]))
            lost += ((columns[test] - restored) ** 2).sum()
            total += ((columns[test] - summary.mean_) ** 2).sum()
    return float(1.0 - lost / total) if total else 1.0


def _class_scores(features: Floats, numbers: Ints, asked: Floats, seed: int) -> Floats:
    """log q(c|f) of the `asked` rows, by the model that did best on held-back rows."""
    fit, check = _hold_back(len(numbers), seed, stratify=numbers)
    prior = np.log(np.bincount(numbers) / len(numbers))
    best, chosen = -np.inf, np.tile(prior, (len(asked), 1))
    rows = np.concatenate([features[check], asked])
    curved = [PolynomialFeatures(2, include_bias=False), StandardScaler()]
    network = MLPClassifier((64, 64), learning_rate_init=3e-3, max_iter=100, random_state=seed)
    logistic = [LogisticRegression(max_iter=300)]
    for steps in (logistic, curved + logistic, [network]):
        model = make_pipeline(*_condense(features[fit].shape, seed), *steps)
        model.fit(features[fit], numbers[fit])
        found = np.log(np.maximum(model.predict_proba(rows), 1e-6))
        for confidence in (0.0, 0.25, 0.5, 0.75, 1.0):
            scores = log_softmax(confidence * found + (1.0 - confidence) * prior, axis=1)
            likelihood = scores[np.arange(len(check)), numbers[check]].mean()
            if likelihood > best:
                best, chosen = likelihood, scores[len(check) :]
    return chosen


def _fit_regression(features: Floats, outputs: Floats, seed: int) -> BaseEstimator:
    """A plain ridge regression, or one with curved terms if it predicts rows left out better."""
    n_rows, n_features = features.shape
    curved = make_union(
        make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler()),
        # on their own scale: directions in which radial terms hardly vary are rounding errors
        Nystroem(gamma=1.0 / n_features, n_components=min(200, n_rows // 3), random_state=seed),
    )
    models = [
        make_pipeline(*_condense(features.shape, seed), *terms, RidgeCV(np.logspace(-4, 4, 17)))
        for terms in ([], [curved])
    ]
    return max((m.fit(features, outputs) for m in models), key=lambda m: m[-1].best_score_)


def _condense(shape: tuple[int, ...], seed: int, max_components: int = 30) -> list[BaseEstimator]:
    """Scale features, and keep the main components of wide ones, which can only lower the bound."""
    n_components = min(max_components, shape[0] // 2)
    wide = shape[1] > n_components
    return [StandardScaler(), *([PCA(n_components, random_state=seed)] if wide else [])]


def _error_whitening(
    features: Floats, outputs: Floats, seed: int, max_components: int = 30
) -> Floats:
    """(outputs, k) that makes the errors of a regression white, on rows it was not trained on."""
    fit, check = _hold_back(len(outputs), seed)
    model = _fit_regression(features[fit], outputs[fit], seed)
    errors = outputs[check] - model.predict(features[check]).reshape(len(check), -1)
    n_axes = min(max_components, outputs.shape[1], len(fit))
    axes = PCA(n_axes, random_state=seed).fit(outputs[fit]).components_.T
    values, vectors = np.linalg.eigh(ledoit_wolf(errors @ axes)[0])
    floor = 1e-6 * float(outputs.var(axis=0).sum())  # below, it is rounding
    return axes @ vectors / np.sqrt(np.maximum(values, floor))


def _hold_back(n_rows: int, seed: int, stratify: Any = None) -> list[Ints]:
    """Rows to train on, and a quarter on which a model is chosen and its confidence set."""
    rows = np.arange(n_rows)
    return train_test_split(rows, test_size=0.25, random_state=seed, stratify=stratify)


@contextmanager
def _quiet() -> Iterator[None]:
    """A probe that stops before it has converged is still a probe."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _check_seed(random_state: Any) -> None:
    if not isinstance(random_state, int | np.integer) or random_state < 0:
        raise InputError(f"random_state is {random_state!r}. Choose a whole number of 0 or more.")


def _check_features(features: Any, random_state: Any) -> Floats:
    _check_seed(random_state)
    array = check_inputs(features, "features")
    if len(array) < MIN_ROWS:
        raise InputError(
            f"There are {len(array)} rows. Pass {MIN_ROWS} or more: what fewer show may be chance."
        )
    return array.reshape(len(array), -1).astype(np.float64, order="C")


def _check_classes(labels: Any, n_rows: int) -> Ints:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise InputError(
            f"labels has shape {array.shape}, but features has {n_rows} rows. "
            "Pass one class per row."
        )
    classes, numbers, counts = np.unique(array, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise InputError("labels holds one class only, so there is nothing to distinguish.")
    rare = classes[counts < MIN_PER_CLASS].tolist()
    if rare:
        raise InputError(
            f"The classes {preview(rare)} have fewer than {MIN_PER_CLASS} rows. "
            "Leave them out or merge them: folds need some rows of each."
        )
    return numbers.astype(np.int64)


@dataclass(frozen=True, repr=False)
class IndexAudit:
    """The three conditions of a domain index, in figures and verdicts; made by `audit_index`.

    `a_from_b` says how well a can be predicted from b: the domain, the index β, the inputs x and,
    on source rows, the labels y; from the encoding z, from x, or from the latents u, β and z.
    `best_linear_r2` is what a linear summary of x keeps with as many numbers as these have.

    Examples
    --------
    >>> audit = audit_index(model, data.X, data.y, data.sample_domain)
    >>> list(audit.conditions)
    ['independent', 'preserves_inputs', 'label_sensitive']
    """

    domain_from_encoding: ClassProbe
    domain_from_inputs: ClassProbe
    index_from_encoding: ValueProbe
    index_from_inputs: ValueProbe
    inputs_from_latents: ValueProbe
    best_linear_r2: float
    labels_from_encoding: ClassProbe | ValueProbe
    labels_from_inputs: ClassProbe | ValueProbe
    n_rows: int
    n_domains: int
    n_source_rows: int

    # Good fits of the paper's synthetic datasets leave between 0 and 8 % of the domain information
    # of x in z. The same tenth may be lost of what a linear summary keeps of x, and of x on y.
    max_leak: ClassVar[float] = 0.1
    min_kept: ClassVar[float] = 0.9

    @property
    def leak(self) -> float:
        """Share of the domain information in x that z still has, 0 to 1."""
        # I(β; z) ≤ I(domain; z), as β is a function of the domain: the larger of the bounds counts
        in_encoding = (self.domain_from_encoding, self.index_from_encoding)
        in_inputs = (self.domain_from_inputs, self.index_from_inputs)
        return _ratio(*(max(probe.information for probe in p) for p in (in_encoding, in_inputs)))

    @property
    def inputs_kept(self) -> float:
        """R² of x from u, β and z, as a share of the best linear summary's, 0 to 1."""
        return _ratio(self.inputs_from_latents.r2, self.best_linear_r2)

    @property
    def labels_kept(self) -> float:
        """Information on y in z, as a share of that in x, 0 to 1."""
        return _ratio(self.labels_from_encoding.information, self.labels_from_inputs.information)

    @property
    def independent(self) -> bool:
        """Condition 1: z says little of the domain, or nothing that is clear of chance."""
        probes = (self.domain_from_encoding, self.index_from_encoding)
        return self.leak <= self.max_leak or not any(_is_clear(probe) for probe in probes)

    @property
    def preserves_inputs(self) -> bool:
        """Condition 2: u, β and z restore x nearly as well as their size allows."""
        return self.inputs_kept >= self.min_kept

    @property
    def label_sensitive(self) -> bool:
        """Condition 3: z predicts y clearly better than chance, and nearly as well as x does."""
        encoding, inputs = self.labels_from_encoding, self.labels_from_inputs
        slack = 2.0 * np.hypot(encoding.standard_error, inputs.standard_error)
        enough = encoding.information >= self.min_kept * inputs.information - slack
        return _is_clear(encoding) and bool(enough)

    @property
    def conditions(self) -> dict[str, bool]:
        """The three conditions in the order of the definition, and whether each holds."""
        names = ("independent", "preserves_inputs", "label_sensitive")
        return {name: getattr(self, name) for name in names}

    @property
    def holds(self) -> bool:
        """Whether all three conditions hold."""
        return all(self.conditions.values())

    def to_dict(self) -> dict[str, Any]:
        """Figures and verdicts in plain values, ready for JSON."""
        more = ("leak", "inputs_kept", "labels_kept", *self.conditions, "holds")
        return asdict(self) | {name: getattr(self, name) for name in more}

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{name}={holds}" for name, holds in self.conditions.items())
        return (
            f"IndexAudit({verdicts}, leak={self.leak:.3f}, inputs_kept={self.inputs_kept:.3f}, "
            f"labels_kept={self.labels_kept:.3f}, n_rows={self.n_rows}, n_domains={self.n_domains})"
        )


def audit_index(
    model: Any,
    X: Any,
    y: Any,
    sample_domain: Any,
    *,
    random_state: int = 0,
    max_rows: int = 3000,
    max_domains: int = 100,
) -> IndexAudit:
    """Check a fitted model against the definition of a domain index.

    Fresh models predict one variable from another, cross-validated over rows. Pass rows that were
    not used in `fit` if you have them: on the others condition 3 looks a little better than it is.
    Domains with fewer than 6 rows, and classes with fewer than 6 labelled rows, are left out.

    Parameters
    ----------
    model : a fitted `CrossDomainClassifier`, or a regressor with the same methods
    X : inputs, as for `fit`
    y : labels, one per row; those of any but the model's sources are never read
    sample_domain : a domain name per row; domains never seen in `fit` are placed on the map first
    random_state : seed of the choice of rows and of the cross-validation
    max_rows : how many rows are used, evenly over domains as far as they go
    max_domains : how many domains are used

    Examples
    --------
    >>> audit = audit_index(model, data.X, data.y, data.sample_domain)
    >>> audit.n_domains
    5
    """
    _check_model(model)
    _check_seed(random_state)
    seed = {"random_state": random_state}
    inputs = getattr(model, "_read_rows", check_inputs)(X)
    names = check_domain_names(sample_domain, len(inputs))
    rng = np.random.default_rng(random_state)
    labelled, labels = _source_labels(model, y, names, max_rows, rng)
    rows, row_domains = _rows_to_probe(names, max_rows, max_domains, rng)
    x = _on_one_scale(inputs)
    u, z = model.transform(X), model.encode(X, sample_domain=sample_domain)
    places = model.place_domains(X, sample_domain=sample_domain).set_index("domain")
    coordinates = places.filter(regex=r"^index_\d+$").to_numpy(dtype=np.float64)
    beta = coordinates[number_names(names, list(places.index))]
    latents = np.hstack([u, beta, z])
    probe_labels = probe_classes if is_classifier(model) else probe_values
    return IndexAudit(
        domain_from_encoding=probe_classes(row_domains, z[rows], **seed),
        domain_from_inputs=probe_classes(row_domains, x[rows], **seed),
        index_from_encoding=_probe_index(beta[rows], z[rows], random_state),
        index_from_inputs=_probe_index(beta[rows], x[rows], random_state),
        inputs_from_latents=probe_values(x[rows], latents[rows], **seed),
        best_linear_r2=best_linear_r2(x[rows], latents.shape[1], **seed),
        labels_from_encoding=probe_labels(labels, z[labelled], **seed),
        labels_from_inputs=probe_labels(labels, x[labelled], **seed),
        n_rows=len(rows),
        n_domains=len(np.unique(row_domains)),
        n_source_rows=len(labelled),
    )


def _probe_index(beta: Floats, features: Floats, seed: int) -> ValueProbe:
    """β from features; of an index that is the same for all domains there is nothing to know."""
    if not np.ptp(beta, axis=0).any():
        return ValueProbe(r2=0.0, information=0.0, standard_error=0.0, ceiling=0.0)
    return probe_values(beta, features, random_state=seed)


def _ratio(part: float, whole: float) -> float:
    """Between 0 and 1: estimates of a part may come out above those of the whole."""
    return part / max(part, whole) if part > 0.0 else 0.0


def _is_clear(probe: ClassProbe | ValueProbe) -> bool:
    return probe.information > 2.0 * probe.standard_error


def _check_model(model: Any) -> None:
    """A fitted classifier or regressor that has u, β and z."""
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}. Pass a fitted object of it.")
    missing = [n for n in ("encode", "transform", "place_domains") if not hasattr(model, n)]
    if missing or not (is_classifier(model) or is_regressor(model)):
        lack = f"lacks {preview(missing)}" if missing else "is neither classifier nor regressor"
        raise InputError(
            f"model is a {type(model).__name__}, which {lack}. Pass a fitted CrossDomainClassifier."
        )
    if not hasattr(model, "source_domains_"):
        raise InputError(f"This {type(model).__name__} is not fitted. Call fit before the audit.")


def _source_labels(
    model: Any, y: Any, names: Sequence[Hashable], max_rows: int, rng: np.random.Generator
) -> tuple[Ints, NDArray]:
    """Row numbers of labelled rows to use, and their labels; no other label is read."""
    array = check_label_array(y, len(names))
    sources = set(model.source_domains_)
    present = [row for row, name in enumerate(names) if name in sources]
    if not present:
        raise InputError(
            f"sample_domain holds {preview(dict.fromkeys(names))}, none of the model's source "
            f"domains ({preview(model.source_domains_)}). Add rows with labels: condition 3 is "
            "about them."
        )
    rows = np.sort(rng.permutation(present)[:max_rows])
    known = array[rows]
    hidden = rows[hidden_marks(known, minus_one_hides=False)]
    if len(hidden):
        raise InputError(
            f"y is missing in {len(hidden)} rows of source domains, the first at row "
            f"{preview(hidden.tolist())}. Give these rows labels or leave them out."
        )
    everywhere = np.ones(len(rows), dtype=bool)
    if is_regressor(model):
        return rows, _on_one_scale(encode_values(known, everywhere))
    numbers = encode_classes(known, everywhere)[1]
    common = np.bincount(numbers)[numbers] >= MIN_PER_CLASS
    if len(np.unique(numbers[common])) < 2 or common.sum() < MIN_ROWS:
        raise InputError(
            f"Of {len(rows)} rows with labels, {common.sum()} have a class that {MIN_PER_CLASS} "
            f"rows share. Pass at least {MIN_ROWS} of these, in two classes or more."
        )
    return rows[common], numbers[common]


def _rows_to_probe(
    names: Sequence[Hashable], max_rows: int, max_domains: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Row numbers, and the number of each row's domain: even over domains as far as they go."""
    groups = [rows for _, rows in group_rows(names, len(names)) if len(rows) >= MIN_PER_CLASS]
    if len(groups) > max_domains:
        groups = [groups[n] for n in np.sort(rng.permutation(len(groups))[:max_domains])]
    if len(groups) < 2 or sum(map(len, groups)) < MIN_ROWS:
        raise InputError(
            f"sample_domain has {len(groups)} domains of {MIN_PER_CLASS} rows or more, with "
            f"{sum(map(len, groups))} rows. Pass two such domains or more and {MIN_ROWS} rows: "
            "a domain can only be compared with others."
        )
    sizes = np.array([len(rows) for rows in groups])
    most = max(size for size in range(1, max_rows) if np.minimum(sizes, size).sum() <= max_rows)
    chosen = [np.sort(rng.permutation(rows)[:most]) for rows in groups]
    return np.concatenate(chosen), np.repeat(np.arange(len(chosen)), [len(c) for c in chosen])


def _on_one_scale(values: NDArray) -> Floats:
    """(rows, columns) of unit variance: each column of a table, all pixels of images together."""
    flat = values.reshape(len(values), -1).astype(np.float64, order="C")
    centred = flat - flat.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0 if values.ndim == 2 else None))
    return centred / np.where(scale > 0.0, scale, 1.0)
