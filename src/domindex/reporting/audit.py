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
from domindex.inputs.gate import check_label_array
from domindex.reporting.report_data import AuditRecord, ConditionRecord

CAVEAT = "Information is in nats, as far as these models can read it; there may be more."


def audit_within(
    budget: float, model: Any, X: Any, y: Any, names: list[Hashable], seed: int
) -> IndexAudit | str:
    """The audit on a sample that takes about `budget` seconds at most, or why there is none."""
    inputs = model._read_rows(X)
    n_features = min(int(np.prod(inputs.shape[1:])), 100)
    n_domains = min(len(set(names)), 100)
    # 1.0e-4 s were measured on 2,000 rows of 20 domains with 10 features, 1.7e-4 on 1,700 of 16
    seconds_a_row = 2e-4 * (n_domains + n_features)
    n_rows = int(min(3000, budget / seconds_a_row))
    if n_rows < min(300, len(names)):
        return (
            "The audit of the index was left out: it would have taken more than a quarter of the "
            "fit's time. Ask for it with report_data(budget=60), or call audit_index."
        )
    rows = _sample(names, set(model.source_domains_), n_rows, seed)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    # of a data frame as one: the model knows its columns by name
    part = frame[rows].to_native() if isinstance(frame, nw.DataFrame) else inputs[rows]
    labels = check_label_array(y, len(names))[rows]
    try:
        return audit_index(model, part, labels, [names[row] for row in rows], random_state=seed)
    except InputError as error:
        return f"The audit of the index could not be made: {error}"


def _sample(names: Sequence[Hashable], sources: set[Hashable], most: int, seed: int) -> Ints:
    """Row numbers, half of them of sources, 12 or more a domain: of very many domains only some."""
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
    on_leak = f"up to {audit.max_leak:.0%} counts as none."
    if not audit.independent:
        on_leak = f"that is above the {audit.max_leak:.0%} that would count as none."
    elif audit.leak > audit.max_leak:
        on_leak = (
            f"that is above {audit.max_leak:.0%}, but so little that chance would give it too, and "
            "counts as none."
        )
    # where the verdict is not the one that the two figures alone would give
    on_chance, enough = "", audit.labels_kept >= audit.min_kept
    if enough and not audit.label_sensitive:
        on_chance = ", but what z holds is not clear of chance"
    elif audit.label_sensitive and not enough:
        on_chance = "; it falls short by no more than chance may take away"
    if isinstance(z, ClassProbe) and isinstance(labels, ClassProbe):
        on_predictions = (
            f"A fresh classifier names the class from z in {z.accuracy:.1%} of rows; "
            f"guessing gives {z.chance:.1%}, the inputs x {labels.accuracy:.1%}."
        )
    else:
        on_predictions = f"A fresh regression explains {_r2(z)} of y from z, {_r2(labels)} from x."
    independence = (
        f"A fresh classifier names the domain from z in {domain.accuracy:.1%} of rows; "
        f"guessing gives {domain.chance:.1%}, the inputs x "
        f"{audit.domain_from_inputs.accuracy:.1%}.",
        f"A fresh regression explains {_r2(index)} of the index from z, "
        f"{_r2(audit.index_from_inputs)} from x.",
        f"z has {audit.leak:.1%} of the domain information in x; {on_leak}",
    )
    inputs = (
        f"They restore {_r2(x)} of the variance of x in rows not seen; the best linear "
        f"summary of that size {max(audit.best_linear_r2, 0.0):.1%}, of which "
        f"{audit.min_kept:.0%} is required.",
        f"They hold at least {x.information:.2f} nats about x; so many rows could show at most "
        f"{x.ceiling:.2f}.",
    )
    on_labels = (
        on_predictions,
        f"z holds at least {z.information:.2f} nats about y, x at least {labels.information:.2f}, "
        f"of which {audit.min_kept:.0%} is required{on_chance}; no probe could show "
        f"more than {z.ceiling:.2f}.",
    )
    statements = (
        "The encoding z does not reveal the domain",
        "The indices and z together keep the inputs",
        "The encoding z predicts the label in the sources",
    )
    found = zip(statements, audit.conditions.values(), (independence, inputs, on_labels))
    return tuple(ConditionRecord(*one) for one in found)


def _headline(audit: IndexAudit) -> tuple[str, str]:
    verdict = "This is a domain index" if audit.holds else "This is not quite a domain index"
    return (
        f"{verdict}: {sum(audit.conditions.values())} of 3 conditions hold.",
        f"Read from {audit.n_rows} rows of {audit.n_domains} domains, "
        f"{audit.n_source_rows} of the rows with labels; cross-validated.",
    )


def _r2(probe: Any) -> str:
    return f"{max(probe.r2, 0.0):.1%}"
