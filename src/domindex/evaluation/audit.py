"""Whether what was inferred is a domain index, by the paper's own definition.

β and u are a global and a local domain index if there is an encoding z such that (1) β and z are
independent, (2) u, β and z together keep the information on x, and (3) z keeps the information
on y.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from domindex.data import check_domain_names, check_inputs, group_rows
from domindex.data.labels import check_label_array, encode_classes, encode_values, hidden_marks
from domindex.data.messages import preview
from domindex.errors import InputError
from domindex.evaluation.readers import (
    MIN_PER_CLASS,
    MIN_ROWS,
    ClassReading,
    ValueReading,
    best_linear_r2,
    check_seed,
    read_classes,
    read_values,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

MAX_ROWS = 3000
MAX_DOMAINS = 100
"""What is read at most, so that an audit takes seconds."""

MAX_LEAK = 0.1
"""Share of the domain information in x that z may still have. Independence is a limit that training
comes near: good fits of the paper's synthetic datasets end between 0 and 8 %."""

MIN_KEPT = 0.9
"""Share to be kept, of what a linear summary of the same size keeps on x, and of what x tells
about y: the same tenth is given away as above."""

CLEARLY = 2.0
"""Standard errors by which a figure must differ to count."""

NEEDED = ("encode", "transform", "place_domains")


@dataclass(frozen=True)
class IndexAudit:
    """The three conditions of a domain index, in figures and verdicts; `print` it for words.

    Attributes
    ----------
    domain_from_encoding, domain_from_inputs : the domain, told from z and from x
    index_from_encoding, index_from_inputs : β, told from z and from x
    inputs_from_latents : x, told from u, β and z
    best_linear_r2 : what the best linear summary of x keeps with as many numbers as u, β and z
    labels_from_encoding, labels_from_inputs : y, told from z and from x, on source rows
    n_rows, n_domains, n_source_rows : what was read
    """

    domain_from_encoding: ClassReading
    domain_from_inputs: ClassReading
    index_from_encoding: ValueReading
    index_from_inputs: ValueReading
    inputs_from_latents: ValueReading
    best_linear_r2: float
    labels_from_encoding: ClassReading | ValueReading
    labels_from_inputs: ClassReading | ValueReading
    n_rows: int
    n_domains: int
    n_source_rows: int

    @property
    def leak(self) -> float:
        """Share of the domain information in x that z still has, 0 to 1.

        β is a function of the domain, so I(β; z) ≤ I(domain; z), and what is read of either is a
        lower bound on the latter: the larger one counts.
        """
        return _ratio(
            _domain_information(self.domain_from_encoding, self.index_from_encoding),
            _domain_information(self.domain_from_inputs, self.index_from_inputs),
        )

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
        """Condition 1: z tells little of the domain, or nothing that is clear of chance."""
        readings = (self.domain_from_encoding, self.index_from_encoding)
        return self.leak <= MAX_LEAK or not any(_is_clear(reading) for reading in readings)

    @property
    def preserves_inputs(self) -> bool:
        """Condition 2: u, β and z restore x nearly as well as their size allows."""
        return self.inputs_kept >= MIN_KEPT

    @property
    def label_sensitive(self) -> bool:
        """Condition 3: z tells y clearly better than chance, and nearly as well as x does."""
        encoding, inputs = self.labels_from_encoding, self.labels_from_inputs
        slack = CLEARLY * np.hypot(encoding.standard_error, inputs.standard_error)
        enough = encoding.information >= MIN_KEPT * inputs.information - slack
        return _is_clear(encoding) and bool(enough)

    @property
    def holds(self) -> bool:
        """Whether all three conditions hold."""
        return self.independent and self.preserves_inputs and self.label_sensitive

    def to_dict(self) -> dict[str, Any]:
        """Figures and verdicts in plain values, ready for JSON."""
        verdicts = ("independent", "preserves_inputs", "label_sensitive", "holds")
        shares = ("leak", "inputs_kept", "labels_kept")
        return asdict(self) | {name: getattr(self, name) for name in shares + verdicts}

    def summary(self) -> str:
        """What was found, in words."""
        met = sum([self.independent, self.preserves_inputs, self.label_sensitive])
        head = "This is a domain index" if self.holds else "This is not quite a domain index"
        return "\n".join(
            [
                f"{head}: {met} of 3 conditions hold.",
                f"Read from {self.n_rows} rows of {self.n_domains} domains, "
                f"{self.n_source_rows} of the rows with labels; cross-validated.",
                "",
                *self._on_independence(),
                "",
                *self._on_inputs(),
                "",
                *self._on_labels(),
                "",
                "Information is in nats, as far as these models can read it; there may be more.",
            ]
        )

    def __str__(self) -> str:
        return self.summary()

    def _on_independence(self) -> list[str]:
        z, x = self.domain_from_encoding, self.domain_from_inputs
        return [
            f"1. The encoding z does not tell the domain: {_verdict(self.independent)}.",
            f"   A fresh classifier names the domain from z in {z.accuracy:.1%} of rows; "
            f"guessing gives {z.chance:.1%}, the inputs x {x.accuracy:.1%}.",
            f"   A fresh regression explains {_percent(self.index_from_encoding.r2)} of the index "
            f"from z, {_percent(self.index_from_inputs.r2)} from x.",
            f"   z has {self.leak:.1%} of the domain information in x; "
            f"up to {MAX_LEAK:.0%} counts as none.",
        ]

    def _on_inputs(self) -> list[str]:
        x = self.inputs_from_latents
        return [
            f"2. The indices and z together keep the inputs: {_verdict(self.preserves_inputs)}.",
            f"   They restore {_percent(x.r2)} of the variance of x in rows not seen; the best "
            f"linear summary of that size {_percent(self.best_linear_r2)}, of which "
            f"{MIN_KEPT:.0%} is asked.",
            f"   They tell at least {x.information:.2f} nats about x; so many rows could show "
            f"at most {x.ceiling:.2f}.",
        ]

    def _on_labels(self) -> list[str]:
        z, x = self.labels_from_encoding, self.labels_from_inputs
        return [
            f"3. The encoding z tells the label in the sources: {_verdict(self.label_sensitive)}.",
            f"   {_label_line(z, x)}",
            f"   z tells at least {z.information:.2f} nats about y, x at least "
            f"{x.information:.2f}, of which {MIN_KEPT:.0%} is asked; "
            f"no reading could show more than {z.ceiling:.2f}.",
        ]


def audit_index(
    model: Any, X: Any, y: Any, sample_domain: Any, *, random_state: int = 0
) -> IndexAudit:
    """Check a fitted model against the definition of a domain index.

    Fresh models read one variable off another, cross-validated over rows (see `read_classes` and
    `read_values`). Pass rows that were not used in `fit` if you have them: on those that were, z
    has seen the source labels and condition 3 looks a little better than it is.

    Domains with fewer than 6 rows, and classes with fewer than 6 labelled rows, are left out. Of
    large data 100 domains and 3000 rows are read, evenly over domains as far as they go.

    Parameters
    ----------
    model : a fitted `VDIClassifier`, or a regressor with the same methods
    X : inputs, as for `fit`
    y : labels, one per row; what stands in rows of any but the model's sources is never read
    sample_domain : a domain name per row; domains never seen in `fit` are placed on the map first
    random_state : seed of the choice of rows and of the cross-validation
    """
    _check_model(model)
    seed = {"random_state": check_seed(random_state)}
    inputs = check_inputs(X)
    names = check_domain_names(sample_domain, len(inputs))
    rng = np.random.default_rng(random_state)
    labelled, labels = _source_labels(model, y, names, rng)
    rows, row_domains = _rows_to_read(names, rng)
    x = _on_one_scale(inputs)
    u, z = model.transform(X), model.encode(X, sample_domain=sample_domain)
    places = model.place_domains(X, sample_domain=sample_domain)
    beta = np.array([places[name] for name in names], dtype=np.float64)
    latents = np.hstack([u, beta, z])
    read_labels = read_classes if is_classifier(model) else read_values
    return IndexAudit(
        domain_from_encoding=read_classes(row_domains, z[rows], **seed),
        domain_from_inputs=read_classes(row_domains, x[rows], **seed),
        index_from_encoding=_read_index(beta[rows], z[rows], random_state),
        index_from_inputs=_read_index(beta[rows], x[rows], random_state),
        inputs_from_latents=read_values(x[rows], latents[rows], **seed),
        best_linear_r2=best_linear_r2(x[rows], latents.shape[1], **seed),
        labels_from_encoding=read_labels(labels, z[labelled], **seed),
        labels_from_inputs=read_labels(labels, x[labelled], **seed),
        n_rows=len(rows),
        n_domains=len(np.unique(row_domains)),
        n_source_rows=len(labelled),
    )


def _check_model(model: Any) -> None:
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}. Pass a fitted object of it.")
    missing = [name for name in NEEDED if not hasattr(model, name)]
    if missing or not (is_classifier(model) or is_regressor(model)):
        lack = f"lacks {preview(missing)}" if missing else "is neither classifier nor regressor"
        raise InputError(
            f"model is a {type(model).__name__}, which {lack}. Pass a fitted VDIClassifier."
        )
    if not hasattr(model, "source_domains_"):
        raise InputError(f"This {type(model).__name__} is not fitted. Call fit before the audit.")


def _source_labels(
    model: Any, y: Any, names: Sequence[Hashable], rng: np.random.Generator
) -> tuple[Rows, NDArray]:
    """Row numbers of labelled rows to read, and their labels; no other label is looked at."""
    array = check_label_array(y, len(names))
    sources = set(model.source_domains_)
    present = [row for row, name in enumerate(names) if name in sources]
    if not present:
        raise InputError(
            f"sample_domain holds {preview(dict.fromkeys(names))}, none of the model's source "
            f"domains ({preview(model.source_domains_)}). Add rows with labels: condition 3 is "
            "about them."
        )
    rows = np.sort(rng.permutation(present)[:MAX_ROWS])
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


def _rows_to_read(names: Sequence[Hashable], rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Row numbers, and the number of each row's domain: even over domains as far as they go."""
    groups = [rows for _, rows in group_rows(names, len(names)) if len(rows) >= MIN_PER_CLASS]
    if len(groups) > MAX_DOMAINS:
        groups = [groups[n] for n in np.sort(rng.permutation(len(groups))[:MAX_DOMAINS])]
    if len(groups) < 2 or sum(map(len, groups)) < MIN_ROWS:
        raise InputError(
            f"sample_domain has {len(groups)} domains of {MIN_PER_CLASS} rows or more, with "
            f"{sum(map(len, groups))} rows. Pass two such domains or more and {MIN_ROWS} rows: "
            "a domain can only be told from others."
        )
    sizes = np.array([len(rows) for rows in groups])
    most = max(size for size in range(1, MAX_ROWS) if np.minimum(sizes, size).sum() <= MAX_ROWS)
    chosen = [np.sort(rng.permutation(rows)[:most]) for rows in groups]
    return np.concatenate(chosen), np.repeat(np.arange(len(chosen)), [len(c) for c in chosen])


def _on_one_scale(values: NDArray) -> Floats:
    """(rows, columns) of unit variance: each column of a table, all pixels of images together."""
    flat = values.reshape(len(values), -1).astype(np.float64, order="C")
    centred = flat - flat.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0 if values.ndim == 2 else None))
    return centred / np.where(scale > 0.0, scale, 1.0)


def _read_index(beta: Floats, features: Floats, seed: int) -> ValueReading:
    """β told from features; an index that is the same for all domains tells nothing."""
    if not np.ptp(beta, axis=0).any():
        return ValueReading(r2=0.0, information=0.0, standard_error=0.0, ceiling=0.0)
    return read_values(beta, features, random_state=seed)


def _domain_information(domain: ClassReading, index: ValueReading) -> float:
    return max(domain.information, index.information)


def _ratio(part: float, whole: float) -> float:
    """Between 0 and 1: estimates of a part may come out above those of the whole."""
    return part / max(part, whole) if part > 0.0 else 0.0


def _is_clear(reading: ClassReading | ValueReading) -> bool:
    return reading.information > CLEARLY * reading.standard_error


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _percent(share: float) -> str:
    return f"{max(share, 0.0):.1%}"


def _label_line(z: ClassReading | ValueReading, x: ClassReading | ValueReading) -> str:
    if isinstance(z, ClassReading) and isinstance(x, ClassReading):
        return (
            f"A fresh classifier names the class from z in {z.accuracy:.1%} of rows; "
            f"guessing gives {z.chance:.1%}, the inputs x {x.accuracy:.1%}."
        )
    assert isinstance(z, ValueReading)
    assert isinstance(x, ValueReading)
    return f"A fresh regression explains {_percent(z.r2)} of y from z, {_percent(x.r2)} from x."
