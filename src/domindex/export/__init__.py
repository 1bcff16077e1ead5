"""Predictors without their estimator: torch programs, skops for what torch cannot say, and ONNX."""

from domindex.export.exported import ExportedPredictor, load_exported
from domindex.export.exporting import FORMATS, export_predictor

__all__ = ["FORMATS", "ExportedPredictor", "export_predictor", "load_exported"]
