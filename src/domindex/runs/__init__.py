"""A run: a table fitted, and everything that can be asked of it later, in one folder."""
