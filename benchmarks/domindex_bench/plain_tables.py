"""The default beside what a user would have tried first."""

from __future__ import annotations

from domindex_bench.figures import LOWER_IS_BETTER
from domindex_bench.summary import Summary
from domindex_bench.tables import markdown

OURS = "vdi"
LINEAR = ("logistic", "ridge")
BOOSTING = "boosting"


def beside_plain(summary: Summary) -> str:
    """A row per dataset: the default, plain linear, plain boosting, the best plain in hindsight."""
    rows = []
    for dataset in summary.datasets:
        figure = summary.headline(dataset)
        linear = [name for name in LINEAR if summary.spread(dataset, name, figure) is not None]
        rows.append(
            [
                summary.suite.title_of(dataset),
                summary.text(dataset, OURS, figure),
                summary.text(dataset, linear[0], figure) if linear else "–",
                summary.text(dataset, BOOSTING, figure),
                _best(summary, dataset, figure),
            ]
        )
    return markdown(["", "VDI", "plain linear", "plain boosting", "best plain"], rows)


def _best(summary: Summary, dataset: str, figure: str) -> str:
    """The best figure of all methods that are none of ours and no adaptation, with its name."""
    plain = {
        name: spread
        for name in summary.methods
        if is_plain(name) and (spread := summary.spread(dataset, name, figure)) is not None
    }
    if not plain:
        return "–"
    pick = min if figure in LOWER_IS_BETTER else max
    best = pick(plain, key=lambda name: plain[name].mean)
    return f"{plain[best]} (`{best}`)"


def is_plain(method: str) -> bool:
    """Whether a user without adaptation in mind would know it; standardised domains included."""
    return not method.startswith(OURS) and method not in ("coral", "linear-ot")
