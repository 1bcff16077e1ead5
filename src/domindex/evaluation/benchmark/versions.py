"""What a figure was measured with."""

from domindex.estimators.versions import LIBRARIES, versions

__all__ = ["LIBRARIES", "versions"]
