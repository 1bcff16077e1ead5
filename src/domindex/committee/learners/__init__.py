"""Learners: what can be fitted on the rows of a representation."""
