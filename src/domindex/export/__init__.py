"""Predictors without their estimator: torch programs, skops for what torch cannot say, and ONNX."""

from domindex.export.exporting import FORMATS, ExportedPredictor, export_predictor, load_exported

__all__ = ["FORMATS", "ExportedPredictor", "export_predictor", "load_exported"]
