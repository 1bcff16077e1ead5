"""The errors a caller may want to catch: what is wrong, what there is, what to do."""


class DomindexError(Exception):
    """Base of every error that domindex raises on purpose.

    Examples
    --------
    >>> from domindex import load_dataset
    >>> from domindex.errors import DomindexError
    >>> try:
    ...     load_dataset("no such dataset")
    ... except DomindexError as error:
    ...     print(type(error).__name__)
    DatasetError
    """


class InputError(DomindexError, ValueError):
    """Data or arguments that cannot be used as they are.

    Examples
    --------
    >>> from domindex.datasets import make_circle
    >>> make_circle(n_domains=1)
    Traceback (most recent call last):
    domindex.errors.InputError: n_domains is 1; give a whole number, at least 2.
    """


class DatasetError(DomindexError, ValueError):
    """A dataset that is unknown, absent, damaged or not to be trusted.

    Examples
    --------
    >>> from domindex import load_dataset
    >>> load_dataset("circel")
    Traceback (most recent call last):
    domindex.errors.DatasetError: ...
    """


class PredictorError(DomindexError, RuntimeError):
    """A predictor that failed, or that returned what is no prediction; the cause is chained.

    Examples
    --------
    >>> from domindex.errors import DomindexError, PredictorError
    >>> issubclass(PredictorError, DomindexError)
    True
    """


class OffMapWarning(UserWarning):
    """Domains that differ from all known ones more than these differ from each other.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import OffMapWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", OffMapWarning)
    """


class NoDomainWarning(UserWarning):
    """Rows without the name of a domain, which all count as one that was never seen.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import NoDomainWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NoDomainWarning)
    """


class PreparationWarning(UserWarning):
    """What was done to the columns of a data frame to make inputs of them.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import PreparationWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", PreparationWarning)
    """


class DomainNameWarning(UserWarning):
    """Domains that read like known ones and are not equal to them, such as 1 and "1".

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import DomainNameWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", DomainNameWarning)
    """


class ClassNameWarning(UserWarning):
    """Classes that differ in capitals or blanks only, such as "Yes" and "yes ": each counts.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import ClassNameWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ClassNameWarning)
    """


class ExtremeValueWarning(UserWarning):
    """Values far beyond all others of their column, which do not count as they are.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import ExtremeValueWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ExtremeValueWarning)
    """


class CollapseWarning(UserWarning):
    """A map or an encoding in which nothing can be told apart.

    Examples
    --------
    To stop at it instead of going on:

    >>> import warnings
    >>> from domindex.errors import CollapseWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CollapseWarning)
    """


class TrainingError(DomindexError, RuntimeError):
    """A training that cannot go on: one of its processes ended, or is out of reach.

    Examples
    --------
    >>> from domindex.errors import DomindexError, TrainingError
    >>> issubclass(TrainingError, DomindexError)
    True
    """


class TrainingDiverged(DomindexError, RuntimeError):  # noqa: N818 - says what happened
    """A term of the objective stopped being a finite number.

    Examples
    --------
    >>> from domindex.errors import DomindexError, TrainingDiverged
    >>> issubclass(TrainingDiverged, DomindexError)
    True
    """


class ClusterError(DomindexError, RuntimeError):
    """A cluster that went away in the middle of the work.

    Examples
    --------
    >>> from domindex.errors import DomindexError, ClusterError
    >>> issubclass(ClusterError, DomindexError)
    True
    """
