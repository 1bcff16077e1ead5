"""A run as a local web page: a table in, predictions and places on the map out."""

from domindex.serving.asking import Answer, AskedRun
from domindex.serving.server import serve_run
from domindex.serving.settings import ServeSettings

__all__ = ["Answer", "AskedRun", "ServeSettings", "serve_run"]
