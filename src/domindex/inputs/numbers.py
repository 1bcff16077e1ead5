"""Arrays, data frames and tensors to one checked float array, and results that are finite."""

from __future__ import annotations

from typing import Any, NoReturn

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from domindex.errors import InputError
from domindex.inputs.messages import preview, shortened
from domindex.inputs.streams import is_stream


def require_moderate(numbers: NDArray, name: str, largest: float = 1e75) -> None:
    """Refuse numbers whose fourth powers, of which moments are sums, are beyond floats."""
    if numbers.dtype.itemsize < 8:  # cannot hold such
        return
    with np.errstate(invalid="ignore"):
        bad = np.argwhere(np.abs(numbers) > largest)
    if not len(bad):
        return
    place = tuple(int(number) for number in bad[0])
    raise InputError(
        f"{name} holds numbers beyond {largest:g}, such as {numbers[place]:.3g} in row {place[0]} "
        f"({len(bad)} in all): their powers are no numbers any more. Choose other units, or "
        "correct these values."
    )


def require_finite_result(result: Any, what: str) -> Any:
    """What an estimator gives, if it is finite; inputs far from those of the fit may break that."""
    for part in result if isinstance(result, tuple) else (result,):
        if not isinstance(part, np.ndarray) or part.dtype.kind != "f":
            continue
        finite = np.asarray(np.isfinite(part.reshape(len(part), -1)).all(axis=1))
        if not finite.all():
            _refuse(finite, what, f"row {int(np.argmin(finite))}")
    return result


def require_finite_table(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """A table with a row a domain, if its numbers are finite."""
    numbers = table.select_dtypes("floating").to_numpy(dtype=np.float64)
    finite = np.asarray(np.isfinite(numbers).all(axis=1))
    if not finite.all():
        name = table["domain"].iloc[int(np.argmin(finite))]
        _refuse(finite, what, f"that of the domain {name!r:.80}")
    return table


def _refuse(finite: NDArray[np.bool_], what: str, first: str) -> NoReturn:
    raise InputError(
        f"{what} comes to NaN or infinity in {int((~finite).sum())} of {len(finite)} rows, "
        f"the first is {first}: their inputs are too far from those "
        "of the fit to compute with. Look for extreme values or other units in X."
    )


def check_inputs(X: Any, name: str = "X") -> NDArray:
    """`X` as a new float array (rows, ...), at least 2-D, finite, never empty.

    float32 stays float32; everything else numeric becomes float64.

    Examples
    --------
    >>> from domindex.inputs import check_inputs
    >>> check_inputs([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    array = _to_array(X, name)
    if array.ndim < 2:
        raise InputError(
            f"Expected 2D array, got {array.ndim}D array instead: {name} has shape {array.shape}. "
            "Reshape your data with X.reshape(-1, 1) if it has one feature, "
            "or X.reshape(1, -1) if it is one row."
        )
    if 0 in array.shape:
        raise InputError(
            f"{name} is empty: {array.shape[0]} sample(s) and {array.shape[1]} feature(s) "
            f"(shape={array.shape}) while a minimum of 1 is required. "
            "Check the filter that produced it."
        )
    floats = _to_floats(array, name)
    bad = np.argwhere(~np.isfinite(floats))
    if len(bad):
        kind = "NaN" if np.isnan(floats[tuple(bad.T)]).any() else "infinity"
        raise InputError(
            f"{name} contains {kind}: {len(bad)} value(s) are NaN or inf, the first at "
            f"{'; '.join(map(_place, bad[:3]))}. Impute or drop them before fitting, for example "
            "with sklearn.impute.SimpleImputer."
        )
    require_moderate(floats, name)
    return floats


def _to_array(X: Any, name: str) -> NDArray:
    if X is None:
        raise InputError(
            f"{name} is None. Pass the inputs, an array or a data frame with a row an observation: "
            "Expected 2D array."
        )
    if isinstance(X, str | bytes):
        raise InputError(
            f"{name} is a text, {X!r:.60}. Expected 2D array: read the file first, for example "
            "with pandas.read_csv, or fit it by domindex.tables.fit_table."
        )
    if sparse.issparse(X):
        raise InputError(
            f"{name} is a sparse matrix of shape {X.shape}; only dense data is supported. "
            "Convert it with X.toarray(), or reduce it first, for example with TruncatedSVD."
        )
    if is_stream(X) and not hasattr(X, "__array__"):
        raise InputError(
            f"{name} is a {type(X).__name__}, which is read in parts. Pass rows that fit into "
            "memory, or predict any table into a file with `domindex.tables.predict_table`."
        )
    require_distinct_columns(X, name)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        kinds = frame.schema.items()
        bad = [f"{c} ({k})" for c, k in kinds if not (k.is_numeric() or k == nw.Boolean)]
        if bad:
            raise InputError(
                f"{name} has columns that are not numbers: {', '.join(bad[:5])}"
                f"{', …' if len(bad) > 5 else ''}. "
                "Encode them first (for example one-hot), or leave them out."
            )
        return np.asarray(frame.select(nw.all().cast(nw.Float64)).to_numpy())
    if hasattr(X, "detach"):  # a torch tensor, without importing torch
        return tensor_to_array(X, name)
    mask = masked(X)
    if mask is not None and mask.any():  # the values behind it would be taken for data
        raise InputError(
            f"{name} is a masked array with {int(mask.sum())} masked value(s), the first at "
            f"{_place(np.argwhere(mask)[0])}. Impute them, or drop these rows: X.filled(...) and "
            "sklearn.impute.SimpleImputer do the former."
        )
    return plain_array(X, name)


def plain_array(values: Any, name: str) -> NDArray:
    """What NumPy makes of a sequence; `InputError` where that is no array."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"{name} is ragged: its rows have different lengths. Pass a rectangular array."
        ) from None
    except Exception as error:
        raise InputError(
            f"{name} is a {type(values).__name__}, which cannot be read as an array "
            f"({type(error).__name__}: {error}). Pass a NumPy array, a data frame or a tensor."
        ) from error


def tensor_to_array(tensor: Any, name: str) -> NDArray:
    """A torch tensor as an array; types that NumPy does not have, in single precision."""
    try:
        dense = tensor.detach().cpu()
        try:
            return np.asarray(dense.numpy())
        except TypeError:  # bfloat16, for example
            return np.asarray(dense.float().numpy())
    except Exception as error:
        raise InputError(
            f"{name} is a tensor of {tensor.dtype} on {tensor.device}, which cannot be read "
            f"({error}). Pass a dense tensor with values, for example X.to_dense().cpu()."
        ) from error


def masked(values: Any) -> NDArray[np.bool_] | None:
    """Where a masked array is masked; None for anything else."""
    return np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None


def require_distinct_columns(frame: Any, name: str) -> None:
    """That a pandas frame names every column once: others cannot do otherwise."""
    if hasattr(frame, "iloc") and hasattr(frame, "columns") and not frame.columns.is_unique:
        twice = list(dict.fromkeys(frame.columns[frame.columns.duplicated()]))
        raise InputError(
            f"{name} has several columns named {preview(twice)}. Give every column a name of its "
            "own, or leave the copies out."
        )


def _to_floats(array: NDArray, name: str) -> NDArray:
    if np.iscomplexobj(array):
        raise InputError(
            f"Complex data not supported: {name} has dtype {array.dtype}. "
            "Pass its real and imaginary parts as separate features."
        )
    if array.dtype.kind in "USVMm":
        raise InputError(
            f"{name} has dtype {array.dtype}, which is not numeric. "
            "Encode text as numbers (for example one-hot) and times as durations first."
        )
    target = np.float32 if array.dtype in (np.float32, np.float16) else np.float64
    try:
        return np.array(array, dtype=target)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds values that are not numbers: {_first_unconvertible(array)} ({error}). "
            "Encode text as numbers first, for example one-hot."
        ) from None


def _first_unconvertible(array: NDArray) -> str:
    for position, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            shown = shortened(value)
            if isinstance(value, int) and value.bit_length() > 200:  # may be too long to write
                shown = f"a whole number of about {int(value.bit_length() * 0.30103) + 1} digits"
            return f"{shown} at {_place(position)}"
    return f"dtype {array.dtype}"


def _place(position: Any) -> str:
    row, *rest = (int(number) for number in position)
    column = f"column {rest[0]}" if len(rest) == 1 else f"position {tuple(rest)}"
    return f"row {row}, {column}"
