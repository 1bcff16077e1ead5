"""How well source domains were predicted by what had not seen their labels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from domindex.committee.record import HeldOutRecord
from domindex.reporting.records import HeldOutQuality, HeldOutScore

REGRESSION_SCORE = "root mean squared error"

METHOD = (
    "While the model was fitted, source domains were left out in turn, some with everything near "
    "them, and predicted by candidates that had not seen their labels; this is what the committee "
    "made of those predictions. Its weights were chosen on the same rows, so it is a little "
    "flattered. No label of a target was used."
)

METHOD_OF_ROWS = (
    "There is a single source, so rows of it were left out in turn. That says how well its own "
    "rows are predicted, and nothing of how the rule carries over to other domains."
)


def held_out_quality(model: Any, record: HeldOutRecord) -> HeldOutQuality:
    """What a report shows of a record of held-out sources."""
    classes = getattr(model, "classes_", None)
    names = [str(model.domains_[number]) for number in record.domains]
    scores = zip(names, record.scores.tolist(), record.plain_scores.tolist())
    return HeldOutQuality(
        score_name=REGRESSION_SCORE if classes is None else "accuracy",
        higher_is_better=classes is not None,
        method=METHOD_OF_ROWS if record.by_rows else METHOD,
        baseline=_baseline(record.plain),
        scores=tuple(HeldOutScore(*one) for one in scores),
        figures=dict(record.figures),
        plain_figures=dict(record.plain_figures),
        calibration=_rows(record.calibration),
        confusion=_rows(record.confusion),
        classes=() if classes is None else tuple(str(one) for one in classes),
        residuals=_rows(record.residuals),
        coverage=_rows(record.coverage),
    )


def _baseline(plain: str) -> str:
    if not plain:
        return "No plain model was among the candidates, so there is nothing to compare with."
    return f"{plain.capitalize()} inputs, the best of the plain candidates in the same folds."


def _rows(table: NDArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())
