"""Where a rule carries over: what it loses from domain to domain, and whether distances say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold

from domindex.arrays import Floats
from domindex.committee.context import one_thread
from domindex.datasets.dataset import check_count
from domindex.errors import InputError
from domindex.geometry import DomainIndex
from domindex.geometry.domain_map import rank_correlation
from domindex.geometry.transport import check_distances
from domindex.inputs import check_domain_names, check_inputs
from domindex.inputs.domain_data import Task
from domindex.inputs.gate import check_label_array, encode_classes, encode_values, hidden_marks
from domindex.inputs.messages import preview
from domindex.inputs.names import number_names, order_names


def transfer_losses(
    X: Any,
    y: Any,
    *,
    sample_domain: Any,
    task: Task,
    min_rows: int = 50,
    max_domains: int = 24,
) -> pd.DataFrame:
    """What a rule that was learned in one domain loses in another.

    Boosting is learned from the rows of every domain k alone, and tried in every other. The entry
    of row k and column j is L(k → j) − L(j): its mean loss on the rows of j, less that of
    boosting learned in j itself, cross-validated in three folds of rows. So a domain that is hard
    for its own rule is not said to be far from all others. The loss is the share of mistaken
    classes, or the squared error over the variance of y in all rows that are used.

    Parameters
    ----------
    X : numbers, (rows, features) or (rows, ...)
    y : labels, one per row; rows without one (None or NaN) are left out
    sample_domain : a domain name per row
    task : "classification" or "regression"
    min_rows : labelled rows from which a domain takes part; fewer teach no rule
    max_domains : of more, so many are taken, evenly spread over the order of their names

    Examples
    --------
    Two domains with one rule, and one with its opposite:

    >>> from domindex.evaluation import transfer_losses
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
    >>> place = np.repeat(["a", "b", "c"], 100)
    >>> y = (x[:, 0] > 0) == (place != "c")
    >>> losses = transfer_losses(x, y, sample_domain=place, task="classification")
    >>> losses.loc["a"].round(1).tolist()
    [0.0, 0.0, 1.0]
    """
    check_count("min_rows", min_rows, 3)
    check_count("max_domains", max_domains, 2)
    inputs = check_inputs(X)
    inputs = inputs.reshape(len(inputs), -1)
    names = check_domain_names(sample_domain, len(inputs))
    array = check_label_array(y, len(inputs))
    known = ~hidden_marks(array, minus_one_hides=False)
    domains = order_names(names)
    row_domains = number_names(names, domains)
    large = np.flatnonzero(np.bincount(row_domains[known], minlength=len(domains)) >= min_rows)
    if len(large) < 2:
        raise InputError(
            f"Of {len(domains)} domains {len(large)} have {min_rows} rows or more with a label, "
            "and a rule needs one domain to learn it in and another to try it in. Lower min_rows, "
            "or pass more labels."
        )
    spread = np.linspace(0, len(large) - 1, min(len(large), max_domains)).round().astype(int)
    used = large[np.unique(spread)]
    rows = [np.flatnonzero(known & (row_domains == number)) for number in used]
    labels = _labels(array, task, np.isin(row_domains, used) & known)
    with one_thread():
        losses = _excess_losses([inputs[one] for one in rows], [labels[one] for one in rows], task)
    index = pd.Index([domains[number] for number in used], tupleize_cols=False, dtype=object)
    return pd.DataFrame(losses, index.rename("learned in"), index.rename("tried in"))


def transfer_correlation(distances: DomainIndex | ArrayLike, losses: pd.DataFrame) -> float:
    """Whether a rule loses more in domains that are farther away: 1 always, 0 no relation.

    Spearman's rank correlation, over all ordered pairs of domains k ≠ j, of their distance with
    what a rule learned in k loses in j. A distance is the same both ways, and losses are not: so
    even the best one need not reach 1.

    Parameters
    ----------
    distances : a map (its distances are used), or an (N, N) matrix in the order of `losses`
    losses : (N, N) from `transfer_losses`; a map may hold more domains than these

    Examples
    --------
    >>> import pandas as pd
    >>> from domindex.evaluation import transfer_correlation
    >>> losses = pd.DataFrame([[0.0, 0.1, 0.4], [0.1, 0.0, 0.2], [0.5, 0.2, 0.0]])
    >>> round(transfer_correlation([[0, 1, 3], [1, 0, 2], [3, 2, 0]], losses), 3)
    0.985
    """
    names, table = list(losses.index), losses.to_numpy(np.float64)
    if list(losses.columns) != names or not np.isfinite(table).all():
        raise InputError(
            f"losses has the rows {preview(names)} and the columns {preview(losses.columns)}, or "
            "entries that are not finite. Pass what transfer_losses returns."
        )
    if isinstance(distances, DomainIndex):
        missing = [name for name in names if name not in distances.domains]
        if missing:
            raise InputError(
                f"losses has {preview(missing)}, but the map holds {preview(distances.domains)}. "
                "Name domains alike in both."
            )
        places = [distances.domains.index(name) for name in names]
        distances = distances.map_distances[np.ix_(places, places)]
    matrix = check_distances(distances)
    if len(matrix) != len(names):
        raise InputError(
            f"distances has {len(matrix)} domains and losses {len(names)}. "
            "Pass those of losses, in its order."
        )
    apart = ~np.eye(len(matrix), dtype=bool)
    if len(matrix) < 3 or np.ptp(matrix[apart]) == 0 or np.ptp(table[apart]) == 0:
        raise InputError(
            f"There are {len(matrix)} domains, or all are as far apart, or lose the same, so there "
            "is no order to compare. Pass three domains or more that differ."
        )
    return rank_correlation(matrix[apart], table[apart])


def _labels(y: NDArray, task: Task, used: NDArray[np.bool_]) -> NDArray:
    """Class numbers (rows,), or values (rows, outputs) of unit variance over the used rows."""
    if task == "classification":
        return encode_classes(y, used)[1]
    if task != "regression":
        raise InputError(f"task is {task!r:.60}. Choose 'classification' or 'regression'.")
    values = encode_values(y, used)
    return values / (np.sqrt(values[used].var(axis=0).sum()) or 1.0)


def _excess_losses(inputs: list[NDArray], labels: list[NDArray], task: Task) -> Floats:
    """(domains, domains) of rules learned in each, on the rows of each, less its own rule's."""
    losses = np.empty((len(inputs), len(inputs)))
    for number, (learned, known) in enumerate(zip(inputs, labels)):
        predicted = _predict(learned, known, np.concatenate(inputs), task)
        parts = np.split(predicted, np.cumsum([len(one) for one in inputs])[:-1])
        losses[number] = [_loss(*pair, task) for pair in zip(labels, parts)]
        own = np.empty(known.shape)
        for train, test in KFold(3, shuffle=True, random_state=0).split(learned):
            own[test] = _predict(learned[train], known[train], learned[test], task)
        losses[number, number] = _loss(known, own, task)
    return losses - np.diag(losses)


def _predict(learned: NDArray, labels: NDArray, rows: NDArray, task: Task) -> NDArray:
    """What boosting says of these rows: class numbers, or (rows, outputs)."""
    if task == "regression":
        columns = [
            HistGradientBoostingRegressor(early_stopping=False, random_state=0)
            .fit(learned, column)
            .predict(rows)
            for column in labels.T
        ]
        return np.stack(columns, axis=1)
    if (labels == labels[0]).all():
        return np.full(len(rows), labels[0])
    rule = HistGradientBoostingClassifier(early_stopping=False, random_state=0).fit(learned, labels)
    return np.asarray(rule.predict(rows))


def _loss(labels: NDArray, predicted: NDArray, task: Task) -> float:
    if task == "classification":
        return float((labels != predicted).mean())
    return float(((labels - predicted) ** 2).sum(axis=1).mean())
