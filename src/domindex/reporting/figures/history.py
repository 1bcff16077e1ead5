"""How training went, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from domindex.errors import InputError
from domindex.inputs.messages import preview
from domindex.reporting.figures.canvas import PALETTE, new_axes

DASHES = ("-", "--", ":")


def plot_history(history: Any, *, terms: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Every term of the objective by epoch, a vertical line where a phase begins.

    Terms differ by orders of magnitude, so the scale is linear near zero and logarithmic beyond.

    Parameters
    ----------
    history : a fitted model, or its `history_`
    terms : which columns to draw; all where None
    ax : axes of Matplotlib to draw on; new ones where None

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.reporting import plot_history
    >>> history = pd.DataFrame({"phase": ["indices"] * 2, "step": [1, 2], "bound": [3.0, 2.0]})
    >>> plot_history(history).get_xlabel()
    'epoch'
    """
    history = _table(history)
    known = [name for name in history.columns if name not in ("phase", "step")]
    chosen = known if terms is None else list(terms)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise InputError(f"history has no {preview(unknown)}; its terms are {preview(known, 20)}.")
    axes = new_axes(ax)
    epochs = np.arange(1, len(history) + 1)
    for number, name in enumerate(chosen):
        axes.plot(
            epochs,
            history[name],
            label=name.replace("_", " "),
            color=PALETTE[number % len(PALETTE)],
            linestyle=DASHES[number // len(PALETTE) % len(DASHES)],
        )
    axes.set_yscale("symlog", linthresh=1.0)
    for epoch, phase in _phase_starts(history):
        if epoch > 1:
            axes.axvline(epoch - 0.5, color="0.7", linewidth=0.8)
        axes.annotate(
            phase,
            (epoch, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, 3),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set(xlabel="epoch", ylabel="term, mean over an epoch")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return axes


def _table(given: Any) -> pd.DataFrame:
    table = getattr(given, "history_", given)
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"history is a {type(given).__name__}. Pass a fitted model, or its history_."
        )
    return table


def _phase_starts(history: pd.DataFrame) -> list[tuple[int, str]]:
    if "phase" not in history:
        return []
    phases = history["phase"].tolist()
    return [
        (epoch, str(phase))
        for epoch, (before, phase) in enumerate(zip([None, *phases], phases), start=1)
        if phase != before
    ]
