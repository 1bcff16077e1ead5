"""The audit of an index in a report: on as many rows as its time allows, and in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.evaluation import ClassProbe, IndexAudit, audit_index
from domindex.inputs import group_rows
from domindex.inputs.labels import check_label_array
from domindex.reporting.report_data import AuditRecord, ConditionRecord

CAVEAT = "Information is in nats, as far as these models can read it; there may be more."


def budget_of(model: Any, seconds: float | None, budget: float | None) -> float:
    """Seconds that a report may take: as asked for, or a quarter of what the fit took."""
    if budget is not None:
        if not budget >= 0:
            raise InputError(f"budget is {budget!r}. Give seconds, 0 or more, or None.")
        return float(budget)
    if seconds is None:
        timings = getattr(model, "timings_", None)
        seconds = 0.0 if timings is None else float(timings["seconds"].sum())
    return 0.25 * seconds


def audit_within(
    budget: float, model: Any, X: Any, y: Any, names: list[Hashable], seed: int, notes: list[str]
) -> IndexAudit | None:
    """The audit of the index on a sample that takes about `budget` seconds at most.

    None, with a reason in `notes`, where that is fewer than 300 rows or the audit is refused.
    """
    inputs = model._read_rows(X)
    n_features = min(int(np.prod(inputs.shape[1:])), 100)
    n_domains = min(len(set(names)), 100)
    # 1.0e-4 s were measured on 2,000 rows of 20 domains with 10 features, 1.7e-4 on 1,700 of 16
    seconds_a_row = 2e-4 * (n_domains + n_features)
    n_rows = int(min(3000, budget / seconds_a_row))
    if n_rows < min(300, len(names)):
        notes.append(
            "The audit of the index was left out: it would have taken more than a quarter of the "
            "fit's time. Ask for it with report_data(budget=60), or call audit_index."
        )
        return None
    rows = _sample(names, set(model.source_domains_), n_rows, seed)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    # of a data frame as one: the model knows its columns by name
    part = frame[rows].to_native() if isinstance(frame, nw.DataFrame) else inputs[rows]
    labels = check_label_array(y, len(names))[rows]
    try:
        return audit_index(model, part, labels, [names[row] for row in rows], random_state=seed)
    except InputError as error:
        notes.append(f"The audit of the index could not be made: {error}")
        return None


def _sample(names: Sequence[Hashable], sources: set[Hashable], most: int, seed: int) -> Ints:
    """Row numbers, half of sources where there are enough, even over a number of domains.

    A domain should have 12 rows, so of very many domains only some are used.
    """
    if len(names) <= most:
        return np.arange(len(names))
    rng = np.random.default_rng(seed)
    groups = list(group_rows(names, len(names)))
    kinds = [[rows for name, rows in groups if (name in sources) == kind] for kind in (True, False)]
    chosen: list[Ints] = []
    for parts in filter(None, kinds):
        room = most // (2 if all(kinds) else 1)
        used = [parts[n] for n in rng.permutation(len(parts))[: max(1, room // 12)]]
        each = max(1, room // len(used))
        chosen += [rng.permutation(rows)[:each] for rows in used]
    return np.sort(np.concatenate(chosen))


def audit_summary(audit: IndexAudit) -> str:
    """What an audit found, in words: a headline, and a paragraph for each condition.

    Examples
    --------
    >>> audit = audit_index(model, data.X, data.y, data.sample_domain)
    >>> print(audit_summary(audit).splitlines()[0])
    This is ... conditions hold.
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
    domain, index = audit.domain_from_encoding, audit.index_from_encoding
    x, z, labels = audit.inputs_from_latents, audit.labels_from_encoding, audit.labels_from_inputs
    independence = (
        f"A fresh classifier names the domain from z in {domain.accuracy:.1%} of rows; "
        f"guessing gives {domain.chance:.1%}, the inputs x "
        f"{audit.domain_from_inputs.accuracy:.1%}.",
        f"A fresh regression explains {_percent(index.r2)} of the index from z, "
        f"{_percent(audit.index_from_inputs.r2)} from x.",
        f"z has {audit.leak:.1%} of the domain information in x; {_on_leak(audit)}",
    )
    inputs = (
        f"They restore {_percent(x.r2)} of the variance of x in rows not seen; the best linear "
        f"summary of that size {_percent(audit.best_linear_r2)}, of which {audit.min_kept:.0%} is "
        "required.",
        f"They hold at least {x.information:.2f} nats about x; so many rows could show at most "
        f"{x.ceiling:.2f}.",
    )
    on_labels = (
        _on_label_predictions(z, labels),
        f"z holds at least {z.information:.2f} nats about y, x at least {labels.information:.2f}, "
        f"of which {audit.min_kept:.0%} is required{_on_labels_kept(audit)}; no probe could show "
        f"more than {z.ceiling:.2f}.",
    )
    sentences = {
        "The encoding z does not reveal the domain": independence,
        "The indices and z together keep the inputs": inputs,
        "The encoding z predicts the label in the sources": on_labels,
    }
    verdicts = (audit.independent, audit.preserves_inputs, audit.label_sensitive)
    pairs = zip(sentences.items(), verdicts)
    return tuple(ConditionRecord(name, holds, words) for (name, words), holds in pairs)


def _headline(audit: IndexAudit) -> tuple[str, str]:
    met = sum(condition.holds for condition in audit.conditions)
    verdict = "This is a domain index" if audit.holds else "This is not quite a domain index"
    return (
        f"{verdict}: {met} of 3 conditions hold.",
        f"Read from {audit.n_rows} rows of {audit.n_domains} domains, "
        f"{audit.n_source_rows} of the rows with labels; cross-validated.",
    )


def _on_leak(audit: IndexAudit) -> str:
    """What follows from the leak, in agreement with the verdict."""
    if audit.leak <= audit.max_leak:
        return f"up to {audit.max_leak:.0%} counts as none."
    if audit.independent:
        return (
            f"that is above {audit.max_leak:.0%}, but so little that chance would give it too, and "
            "counts as none."
        )
    return f"that is above the {audit.max_leak:.0%} that would count as none."


def _on_labels_kept(audit: IndexAudit) -> str:
    """Why the verdict is not the one that the two figures alone would give."""
    enough = audit.labels_kept >= audit.min_kept
    if enough and not audit.label_sensitive:
        return ", but what z holds is not clear of chance"
    if audit.label_sensitive and not enough:
        return "; it falls short by no more than chance may take away"
    return ""


def _on_label_predictions(z: Any, x: Any) -> str:
    if isinstance(z, ClassProbe):
        return (
            f"A fresh classifier names the class from z in {z.accuracy:.1%} of rows; "
            f"guessing gives {z.chance:.1%}, the inputs x {x.accuracy:.1%}."
        )
    return f"A fresh regression explains {_percent(z.r2)} of y from z, {_percent(x.r2)} from x."


def _percent(share: float) -> str:
    return f"{max(share, 0.0):.1%}"
