"""The progress of a training is shown as that of anything else."""

from domindex.progress import Progress, show_progress

__all__ = ["Progress", "show_progress"]
