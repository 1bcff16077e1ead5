"""What an estimator must be able to do before it is given any work."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from domindex.data.domain_data import Task
from domindex.errors import InputError

_OTHER = {"classifier": "regression", "regressor": "classification"}


def check_estimator(estimator: Any, task: Task) -> None:
    """Refuse what cannot be fitted for `task`; nothing is fitted here."""
    if isinstance(estimator, type):
        raise InputError(
            f"predictor is the class {estimator.__name__}. Pass an instance of it: "
            f"{estimator.__name__}()."
        )
    name = type(estimator).__name__
    missing = [
        method for method in ("fit", "predict") if not callable(getattr(estimator, method, None))
    ]
    if missing:
        raise InputError(
            f"predictor is {estimator!r:.80}, a {name}, which has no {' and no '.join(missing)}. "
            "Pass a name of list_predictors(), or an estimator like those of scikit-learn."
        )
    kind = estimator_kind(estimator)
    if _OTHER.get(kind or "") == task:
        wanted = "classifier" if task == "classification" else "regressor"
        raise InputError(f"predictor is {name}, a {kind}, and the task is {task}. Pass a {wanted}.")
    if task == "classification" and not callable(getattr(estimator, "predict_proba", None)):
        raise InputError(
            f"predictor is {name}, which has no predict_proba as it is set, and classes are "
            f"predicted by their probabilities. Wrap it in CalibratedClassifierCV({name}(...)), "
            "or choose another."
        )


def estimator_kind(estimator: Any) -> str | None:
    """ "classifier" or "regressor", where the estimator says so itself."""
    if hasattr(estimator, "__sklearn_tags__"):
        kind = get_tags(estimator).estimator_type
    else:
        kind = getattr(estimator, "_estimator_type", None)
    return kind if kind in _OTHER else None


def takes_many_outputs(estimator: Any) -> bool:
    """Whether it says that it can learn y of shape (rows, outputs)."""
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    return bool(get_tags(estimator).target_tags.multi_output)


def weight_argument(estimator: Any) -> str | None:
    """What `fit` calls the weights of rows; None where it takes none.

    A pipeline passes them to its last step.
    """
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = None if isinstance(last, str) or last is None else weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    try:
        return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None
    except (TypeError, ValueError):
        return None


def require_weights(estimator: Any, name: str) -> str:
    """What `fit` calls the weights of rows; refused where it takes none."""
    argument = weight_argument(estimator)
    if argument is None:
        raise InputError(
            f"The predictor {name!r} cannot weigh rows: the fit of {type(estimator).__name__} has "
            "no sample_weight. Fit it without weights, or choose another."
        )
    return argument
