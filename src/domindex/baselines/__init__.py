"""Methods to compare with, on the same data path."""

from domindex.baselines.moment_flow import MomentFlow

__all__ = ["MomentFlow"]
