"""Whether what was inferred is a domain index, by the paper's own definition.

β and u are a global and a local domain index if there is an encoding z such that (1) β and z are
independent, (2) u, β and z together keep the information on x, and (3) z keeps the information
on y. Figures and verdicts only: `domindex.reporting.audit_summary` puts them into words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from domindex.arrays import Floats
from domindex.evaluation.audit_rows import (
    check_model,
    on_one_scale,
    rows_to_probe,
    source_labels,
)
from domindex.evaluation.probes import (
    ClassProbe,
    ValueProbe,
    best_linear_r2,
    check_seed,
    probe_classes,
    probe_values,
)
from domindex.inputs import check_domain_names, check_inputs

ConditionName = Literal["independent", "preserves_inputs", "label_sensitive"]

MAX_LEAK = 0.1
"""Share of the domain information in x that z may still have. Independence is a limit that training
comes near: good fits of the paper's synthetic datasets end between 0 and 8 %."""

MIN_KEPT = 0.9
"""Share to be kept, of what a linear summary of the same size keeps on x, and of what x has
about y: the same tenth is given away as above."""

CLEARLY = 2.0
"""Standard errors by which a figure must differ to count."""


@dataclass(frozen=True)
class Condition:
    """One of the three conditions of a domain index.

    Attributes
    ----------
    name : "independent", "preserves_inputs" or "label_sensitive"
    holds : the verdict
    figures : what it rests on by name; `at_most` or `at_least` is the limit of the first

    Examples
    --------
    >>> from domindex.evaluation import Condition
    >>> Condition("independent", True, {"leak": 0.03, "at_most": 0.1}).holds
    True
    """

    name: ConditionName
    holds: bool
    figures: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class IndexAudit:
    """The three conditions of a domain index, in figures and verdicts.

    Attributes
    ----------
    domain_from_encoding : the domain, predicted from z
    domain_from_inputs : the domain, predicted from x
    index_from_encoding : β, predicted from z
    index_from_inputs : β, predicted from x
    inputs_from_latents : x, predicted from u, β and z
    best_linear_r2 : what the best linear summary of x keeps with as many numbers as u, β and z
    labels_from_encoding : y, predicted from z, on source rows
    labels_from_inputs : y, predicted from x, on source rows
    n_rows : how many were used
    n_domains : how many they were of
    n_source_rows : how many of them were of sources

    Examples
    --------
    Made by `audit_index`; `conditions` and `to_dict` hold all of it:

    >>> from dataclasses import fields
    >>> from domindex.evaluation import IndexAudit
    >>> [field.name for field in fields(IndexAudit)][:2]
    ['domain_from_encoding', 'domain_from_inputs']
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

    @property
    def leak(self) -> float:
        """Share of the domain information in x that z still has, 0 to 1.

        β is a function of the domain, so I(β; z) ≤ I(domain; z), and what is found of either is a
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
        probes = (self.domain_from_encoding, self.index_from_encoding)
        return self.leak <= MAX_LEAK or not any(_is_clear(probe) for probe in probes)

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

    @property
    def conditions(self) -> tuple[Condition, Condition, Condition]:
        """The three conditions in the order of the definition."""
        return (
            Condition("independent", self.independent, self._independence_figures()),
            Condition("preserves_inputs", self.preserves_inputs, self._inputs_figures()),
            Condition("label_sensitive", self.label_sensitive, self._labels_figures()),
        )

    def to_dict(self) -> dict[str, Any]:
        """Figures and verdicts in plain values, ready for JSON."""
        verdicts = ("independent", "preserves_inputs", "label_sensitive", "holds")
        shares = ("leak", "inputs_kept", "labels_kept")
        return asdict(self) | {name: getattr(self, name) for name in shares + verdicts}

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{one.name}={one.holds}" for one in self.conditions)
        return (
            f"IndexAudit({verdicts}, leak={self.leak:.3f}, inputs_kept={self.inputs_kept:.3f}, "
            f"labels_kept={self.labels_kept:.3f}, n_rows={self.n_rows}, n_domains={self.n_domains})"
        )

    def _independence_figures(self) -> dict[str, float]:
        return {
            "leak": self.leak,
            "domain_accuracy_from_encoding": self.domain_from_encoding.accuracy,
            "domain_accuracy_from_inputs": self.domain_from_inputs.accuracy,
            "domain_accuracy_by_chance": self.domain_from_encoding.chance,
            "index_r2_from_encoding": self.index_from_encoding.r2,
            "index_r2_from_inputs": self.index_from_inputs.r2,
            "at_most": MAX_LEAK,
        }

    def _inputs_figures(self) -> dict[str, float]:
        return {
            "inputs_kept": self.inputs_kept,
            "r2": self.inputs_from_latents.r2,
            "best_linear_r2": self.best_linear_r2,
            "information": self.inputs_from_latents.information,
            "at_least": MIN_KEPT,
        }

    def _labels_figures(self) -> dict[str, float]:
        return {
            "labels_kept": self.labels_kept,
            "information_from_encoding": self.labels_from_encoding.information,
            "information_from_inputs": self.labels_from_inputs.information,
            "at_least": MIN_KEPT,
        }


def audit_index(
    model: Any, X: Any, y: Any, sample_domain: Any, *, random_state: int = 0
) -> IndexAudit:
    """Check a fitted model against the definition of a domain index.

    Fresh models predict one variable from another, cross-validated over rows (`probe_classes`,
    `probe_values`). Pass rows that were not used in `fit` if you have them: on those that were, z
    has seen the source labels and condition 3 looks a little better than it is.

    Domains with fewer than 6 rows, and classes with fewer than 6 labelled rows, are left out. Of
    large data 100 domains and 3000 rows are used, evenly over domains as far as they go.

    Parameters
    ----------
    model : a fitted `VDIClassifier`, or a regressor with the same methods
    X : inputs, as for `fit`
    y : labels, one per row; what stands in rows of any but the model's sources is never read
    sample_domain : a domain name per row; domains never seen in `fit` are placed on the map first
    random_state : seed of the choice of rows and of the cross-validation

    Examples
    --------
    >>> from domindex import Training, VDIClassifier
    >>> from domindex.datasets import make_circle
    >>> data = make_circle(n_domains=5, n_sources=3, samples_per_domain=20)
    >>> model = VDIClassifier(
    ...     candidates=[("raw", "linear")], training=Training(index_steps=5), random_state=0
    ... )
    >>> names = data.sample_domain
    >>> model = model.fit(data.X, data.y, sample_domain=names, source_domains=[0, 1, 2])
    >>> from domindex.evaluation import audit_index
    >>> audit = audit_index(model, data.X, data.y, names)
    >>> [condition.name for condition in audit.conditions]
    ['independent', 'preserves_inputs', 'label_sensitive']
    """
    check_model(model)
    seed = {"random_state": check_seed(random_state)}
    inputs = check_inputs(X)
    names = check_domain_names(sample_domain, len(inputs))
    rng = np.random.default_rng(random_state)
    labelled, labels = source_labels(model, y, names, rng)
    rows, row_domains = rows_to_probe(names, rng)
    x = on_one_scale(inputs)
    u, z = model.transform(X), model.encode(X, sample_domain=sample_domain)
    places = model.place_domains(X, sample_domain=sample_domain).set_index("domain")
    numbers = {name: number for number, name in enumerate(places.index)}
    coordinates = places.filter(regex=r"^index_\d+$").to_numpy(dtype=np.float64)
    beta = coordinates[[numbers[name] for name in names]]
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


def _domain_information(domain: ClassProbe, index: ValueProbe) -> float:
    return max(domain.information, index.information)


def _ratio(part: float, whole: float) -> float:
    """Between 0 and 1: estimates of a part may come out above those of the whole."""
    return part / max(part, whole) if part > 0.0 else 0.0


def _is_clear(probe: ClassProbe | ValueProbe) -> bool:
    return probe.information > CLEARLY * probe.standard_error
