"""The release, told here and nowhere else: the package's metadata is built from this line."""

__version__ = "0.2.0"
