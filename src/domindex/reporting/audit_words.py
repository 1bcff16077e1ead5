"""The audit of an index in words."""

from __future__ import annotations

from domindex.evaluation import ClassProbe, IndexAudit, ValueProbe
from domindex.reporting.records import AuditRecord, ConditionRecord

CAVEAT = "Information is in nats, as far as these models can read it; there may be more."


def audit_summary(audit: IndexAudit) -> str:
    """What an audit found, in words: a headline, and a paragraph for each condition.

    Examples
    --------
    >>> from domindex.evaluation import ClassProbe, IndexAudit, ValueProbe
    >>> from domindex.reporting import audit_summary
    >>> classes = ClassProbe(0.9, chance=0.5, information=0.4, standard_error=0.05, ceiling=0.69)
    >>> values = ValueProbe(0.9, information=1.2, standard_error=0.1, ceiling=3.0)
    >>> found = (classes, classes, values, values, values, 0.9, classes, classes)
    >>> audit = IndexAudit(*found, n_rows=100, n_domains=4, n_source_rows=50)
    >>> print(audit_summary(audit).splitlines()[0])
    This is not quite a domain index: 2 of 3 conditions hold.
    """
    lines = list(_headline(audit))
    for number, condition in enumerate(condition_records(audit), start=1):
        verdict = "holds" if condition.holds else "does not hold"
        lines += ["", f"{number}. {condition.statement}: {verdict}."]
        lines += [f"   {sentence}" for sentence in condition.sentences]
    return "\n".join([*lines, "", CAVEAT])


def audit_record(audit: IndexAudit) -> AuditRecord:
    """What a report shows of an audit."""
    summary = " ".join([*_headline(audit), CAVEAT])
    return AuditRecord(audit.holds, summary, condition_records(audit), audit.to_dict())


def condition_records(audit: IndexAudit) -> tuple[ConditionRecord, ...]:
    """For each condition a statement, whether it holds, and sentences with its figures."""
    return (
        ConditionRecord(
            "The encoding z does not tell the domain", audit.independent, _on_independence(audit)
        ),
        ConditionRecord(
            "The indices and z together keep the inputs", audit.preserves_inputs, _on_inputs(audit)
        ),
        ConditionRecord(
            "The encoding z tells the label in the sources",
            audit.label_sensitive,
            _on_labels(audit),
        ),
    )


def _headline(audit: IndexAudit) -> tuple[str, str]:
    met = sum(condition.holds for condition in audit.conditions)
    verdict = "This is a domain index" if audit.holds else "This is not quite a domain index"
    return (
        f"{verdict}: {met} of 3 conditions hold.",
        f"Read from {audit.n_rows} rows of {audit.n_domains} domains, "
        f"{audit.n_source_rows} of the rows with labels; cross-validated.",
    )


def _on_independence(audit: IndexAudit) -> tuple[str, ...]:
    z, x = audit.domain_from_encoding, audit.domain_from_inputs
    return (
        f"A fresh classifier names the domain from z in {z.accuracy:.1%} of rows; "
        f"guessing gives {z.chance:.1%}, the inputs x {x.accuracy:.1%}.",
        f"A fresh regression explains {_percent(audit.index_from_encoding.r2)} of the index "
        f"from z, {_percent(audit.index_from_inputs.r2)} from x.",
        f"z has {audit.leak:.1%} of the domain information in x; {_on_leak(audit)}",
    )


def _on_leak(audit: IndexAudit) -> str:
    """What follows from the leak, so that the words end where the verdict does."""
    if audit.leak <= audit.max_leak:
        return f"up to {audit.max_leak:.0%} counts as none."
    if audit.independent:
        return (
            f"that is above {audit.max_leak:.0%}, but so little that chance would give it too, and "
            "counts as none."
        )
    return f"that is above the {audit.max_leak:.0%} that would count as none."


def _on_inputs(audit: IndexAudit) -> tuple[str, ...]:
    x = audit.inputs_from_latents
    return (
        f"They restore {_percent(x.r2)} of the variance of x in rows not seen; the best "
        f"linear summary of that size {_percent(audit.best_linear_r2)}, of which "
        f"{audit.min_kept:.0%} is asked.",
        f"They tell at least {x.information:.2f} nats about x; so many rows could show "
        f"at most {x.ceiling:.2f}.",
    )


def _on_labels(audit: IndexAudit) -> tuple[str, ...]:
    z, x = audit.labels_from_encoding, audit.labels_from_inputs
    return (
        _on_label_predictions(z, x),
        f"z tells at least {z.information:.2f} nats about y, x at least "
        f"{x.information:.2f}, of which {audit.min_kept:.0%} is asked{_on_labels_kept(audit)}; "
        f"no probe could show more than {z.ceiling:.2f}.",
    )


def _on_labels_kept(audit: IndexAudit) -> str:
    """Why the verdict is not the one that the two figures alone would give."""
    enough = audit.labels_kept >= audit.min_kept
    if enough and not audit.label_sensitive:
        return ", but what z tells is not clear of chance"
    if audit.label_sensitive and not enough:
        return "; it falls short by no more than chance may take away"
    return ""


def _on_label_predictions(z: ClassProbe | ValueProbe, x: ClassProbe | ValueProbe) -> str:
    if isinstance(z, ClassProbe) and isinstance(x, ClassProbe):
        return (
            f"A fresh classifier names the class from z in {z.accuracy:.1%} of rows; "
            f"guessing gives {z.chance:.1%}, the inputs x {x.accuracy:.1%}."
        )
    assert isinstance(z, ValueProbe)
    assert isinstance(x, ValueProbe)
    return f"A fresh regression explains {_percent(z.r2)} of y from z, {_percent(x.r2)} from x."


def _percent(share: float) -> str:
    return f"{max(share, 0.0):.1%}"
