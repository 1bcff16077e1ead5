"""The errors a caller may want to catch: what is wrong, what there is, what to do."""


class DomindexError(Exception):
    """Base of every error that domindex raises on purpose."""


class InputError(DomindexError, ValueError):
    """Data or arguments that cannot be used as they are."""


class DatasetError(DomindexError, ValueError):
    """A dataset that is unknown, absent, damaged or not to be trusted."""


class PredictorError(DomindexError, RuntimeError):
    """A predictor that failed, or that returned what is no prediction; the cause is chained."""


class OffMapWarning(UserWarning):
    """Domains that differ from all known ones more than these differ from each other."""


class NoDomainWarning(UserWarning):
    """Rows without the name of a domain, which all count as one that was never seen."""


class PreparationWarning(UserWarning):
    """What was done to the columns of a data frame to make inputs of them."""


class DomainNameWarning(UserWarning):
    """Domains that read like known ones and are not equal to them, such as 1 and "1"."""


class ClassNameWarning(UserWarning):
    """Classes that differ in capitals or blanks only, such as "Yes" and "yes ": each counts."""


class ExtremeValueWarning(UserWarning):
    """Single values out of all proportion to their column, which do not count as they are."""


class CollapseWarning(UserWarning):
    """A map or an encoding in which nothing can be told apart."""


class TrainingError(DomindexError, RuntimeError):
    """A training that cannot go on: one of its processes ended, or is out of reach."""


class TrainingDiverged(DomindexError, RuntimeError):  # noqa: N818 - says what happened
    """A term of the objective stopped being a finite number."""


class ClusterError(DomindexError, RuntimeError):
    """A cluster that went away in the middle of the work."""
