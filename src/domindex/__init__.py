"""domindex: a map of your data's domains, and predictions in the ones without labels."""

__version__ = "0.1.0"
