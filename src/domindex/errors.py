"""The errors and warnings of domindex: each says what is wrong, what there is, and what to do.
Catch `DomindexError` for all errors."""


class DomindexError(Exception):
    """Base of every error that domindex raises on purpose."""


class InputError(DomindexError, ValueError):
    """Data or arguments that cannot be used as they are."""


class DatasetError(DomindexError, ValueError):
    """A dataset that is unknown, absent, damaged or not to be trusted."""


class PredictorError(DomindexError, RuntimeError):
    """A predictor failed, or returned something that is no prediction; the cause is chained."""


class TrainingDiverged(DomindexError, RuntimeError):  # noqa: N818 - says what happened
    """A term of the objective is no longer a finite number."""


class ClusterError(DomindexError, RuntimeError):
    """The cluster went away in the middle of the work."""


class OffMapWarning(UserWarning):
    """Domains that differ from all known ones more than these differ from each other."""


class BeyondExperienceWarning(OffMapWarning):
    """Domains in which something is unlike all that held-out sources showed."""


class NoDomainWarning(UserWarning):
    """Rows without the name of a domain; they all count as one new domain."""


class PreparationWarning(UserWarning):
    """What was done to the columns of a data frame to make inputs of them."""


class DomainNameWarning(UserWarning):
    """Domains that look like known ones and are not equal to them, such as 1 and "1"."""


class ClassNameWarning(UserWarning):
    """Classes that differ only in capitals or blanks, such as "Yes" and "yes ": each counts."""


class ExtremeValueWarning(UserWarning):
    """Values far outside all others of their column, which are left out or drawn in."""


class FlowWarning(UserWarning):
    """A flow behind which held-out sources are predicted worse than as they are."""


class CollapseWarning(UserWarning):
    """A map or an encoding in which all domains or rows look the same."""
