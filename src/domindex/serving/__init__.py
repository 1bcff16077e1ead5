"""A run as a local web page: a table in, predictions and places on the map out."""

from domindex.serving.served_run import Answer, ServedRun, ServeSettings, serve_run

__all__ = ["Answer", "ServeSettings", "ServedRun", "serve_run"]
