"""ONNX, an extra: networks by torch's own exporter, what scikit-learn fitted by skl2onnx."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from domindex.committee.learners.estimators import EstimatorPredictor
from domindex.errors import InputError
from domindex.export.program import CommitteeProgram, Half, Program, exported_program

INPUTS = ("X", "domain")


def require_onnx(
    needed: tuple[str, ...] = ("onnx", "onnxruntime", "onnxscript", "skl2onnx"),
) -> None:
    """InputError that says what to install."""
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise InputError(
            f"ONNX needs {', '.join(missing)}, which is not installed. "
            "Run pip install 'domindex[onnx]'."
        )


def onnx_session(model: Path | bytes) -> Any:
    require_onnx(("onnxruntime",))
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def write_onnx(program: Program, path: Path, X: NDArray, numbers: NDArray[np.int64]) -> None:
    """One file, weights inside, for any number of rows; `X` and `numbers` are an example."""
    import onnx

    given = (torch.tensor(X), torch.tensor(numbers))
    with _quiet():
        if not (isinstance(program, CommitteeProgram) and program.estimators):
            onnx.save(_from_torch(program, given, INPUTS, program.outputs), path)
            return
        found, count = program.before(*given), len(program.estimators)
        names = [f"context_{k}" for k in range(len(found) - count)]
        features = [f"features_{k}" for k in range(count)]
        parts = [_from_torch(Half(program, "before"), given, INPUTS, (*names, *features))]
        opset = next(one.version for one in parts[0].opset_import if not one.domain)
        context, answers = found[: len(names)], list[Tensor]()
        for name, predictor, part in zip(features, program.estimators, found[len(names) :]):
            for estimator in predictor.estimators:
                names.append(f"answer_{len(answers)}")
                model, answer = _from_sklearn(estimator, predictor, part, opset)
                parts.append(_linked(model, name, names[-1]))
                answers.append(answer)
        parts.append(_from_torch(_After(program), (*context, *answers), names, program.outputs))
        onnx.save(_joined(parts), path)


class _After(nn.Module):
    """`CommitteeProgram.after`, given the answers of every estimator as scikit-learn has them."""

    def __init__(self, program: CommitteeProgram) -> None:
        super().__init__()
        self.program = program
        self.parts = [(len(one.estimators), _columns(one)) for one in program.estimators]

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        n_context = len(given) - sum(count for count, _ in self.parts)
        context, rest, said = given[:n_context], list(given[n_context:]), []
        for count, columns in self.parts:
            parts, rest = rest[:count], rest[count:]
            raw = torch.cat(parts, dim=1) if parts else torch.ones_like(given[0][:, :1])
            if columns is not None:  # of classes
                raw = raw.clamp_min(0.0) / raw.sum(dim=1, keepdim=True) @ columns
            said.append(raw)
        return self.program.after(*context, *said)


def _columns(predictor: EstimatorPredictor) -> Tensor | None:
    """(classes that were learned from, classes), 1 where one is the other; None for values."""
    if predictor.present is None:
        return None
    order = np.arange(len(predictor.present))
    if predictor.estimators:
        order = np.asarray(getattr(predictor.estimators[0], "classes_", order), dtype=np.int64)
    return torch.eye(predictor.n_outputs, dtype=torch.float64)[predictor.present[order]]


def _from_torch(module: nn.Module, given: Any, inputs: Any, outputs: Any) -> Any:
    """In ONNX, names of its own apart from inputs and outputs."""
    import onnx.compose

    names: Any = {"input_names": list(inputs), "output_names": list(outputs)}
    program = exported_program(module, given)
    written: Any = torch.onnx.export(program, (), **names, dynamo=True, verbose=False)
    keep = {"rename_inputs": False, "rename_outputs": False}
    return onnx.compose.add_prefix(written.model_proto, f"{type(module).__name__}/", **keep)


def _from_sklearn(
    estimator: Any, predictor: EstimatorPredictor, features: Tensor, opset: int
) -> tuple[Any, Tensor]:
    """The estimator in ONNX, and its answers; in double precision where onnxruntime has it so."""
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    from sklearn.kernel_approximation import Nystroem

    skl2onnx.update_registered_converter(Nystroem, "DomindexNystroem", _kernel_shape, _kernel)
    is_class = predictor.present is not None
    shape, reason = [None, predictor.n_features], ""
    for kind, number in ((DoubleTensorType, np.float64), (FloatTensorType, np.float32)):
        try:
            model = skl2onnx.convert_sklearn(
                estimator,
                initial_types=[("rows", kind(shape))],
                options={id(estimator): {"zipmap": False}} if is_class else None,
                target_opset={"": opset, "ai.onnx.ml": 3},
            )
            session = onnx_session(model.SerializeToString())
            answer = session.run(None, {"rows": features.numpy().astype(number)})[-1]
            return model, torch.tensor(answer.reshape(len(features), -1), dtype=torch.float64)
        except Exception as error:
            reason = str(error).strip().splitlines()[0][:200]
    raise InputError(
        f"The model cannot be exported to ONNX because of the predictor {predictor.name!r} "
        f"(skl2onnx on {type(estimator).__name__}: {reason}). Choose format='torch', which "
        "keeps it by skops, or prescribe other candidates=."
    )


def _kernel_shape(operator: Any) -> None:
    kind = type(operator.inputs[0].type)
    operator.outputs[0].type = kind([None, len(operator.raw_operator.components_)])


def _kernel(scope: Any, operator: Any, container: Any) -> None:
    """Landmarks of a Gaussian kernel, which skl2onnx has no form of: exp(−γ |x − landmark|²) W."""
    from skl2onnx.algebra import onnx_ops as ops
    from skl2onnx.common.data_types import guess_numpy_type

    given, x = operator.raw_operator, operator.inputs[0]
    if given.kernel != "rbf":
        raise NotImplementedError(f"there is no form of the kernel {given.kernel!r:.40}")
    kind, op = guess_numpy_type(x.type), {"op_version": container.target_opset}
    landmarks = given.components_.astype(kind)
    gamma = 1.0 / landmarks.shape[1] if given.gamma is None else given.gamma
    squares = ops.OnnxMatMul(ops.OnnxMul(x, x, **op), np.ones((landmarks.shape[1], 1), kind), **op)
    sizes = ops.OnnxAdd(squares, (landmarks**2).sum(axis=1)[None], **op)
    distances = ops.OnnxSub(sizes, ops.OnnxMatMul(x, 2 * landmarks.T, **op), **op)
    nonnegative = ops.OnnxMax(distances, np.zeros(1, kind), **op)
    similar = ops.OnnxExp(ops.OnnxMul(nonnegative, np.array([-gamma], kind), **op), **op)
    weights = given.normalization_.T.astype(kind)
    ops.OnnxMatMul(similar, weights, output_names=operator.outputs[:1], **op).add_to(
        scope, container
    )


def _linked(model: Any, features: str, answer: str) -> Any:
    """An estimator between the features and its answer, both in double precision."""
    from onnx import TensorProto, compose, helper

    named = compose.add_prefix(model, f"{answer}/")
    graph, (rows, *_), last = named.graph, named.graph.input, named.graph.output[-1]
    precision = rows.type.tensor_type.elem_type
    graph.node.insert(0, helper.make_node("Cast", [features], [rows.name], to=precision))
    double = helper.make_node("Cast", [last.name], [f"{answer}/double"], to=TensorProto.DOUBLE)
    graph.node.extend([double, helper.make_node("Flatten", double.output, [answer], axis=1)])
    return named


def _joined(parts: list[Any]) -> Any:
    """Graphs one after the other, each fed by the names of those before it, as one model."""
    from onnx import checker, helper

    graph = helper.make_graph(
        [node for part in parts for node in part.graph.node],
        "predictor",
        parts[0].graph.input,
        parts[-1].graph.output,
        [one for part in parts for one in part.graph.initializer],
    )
    versions = {one.domain: one.version for part in parts for one in part.opset_import}
    joined = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*one) for one in versions.items()],
        functions=[one for part in parts for one in part.functions],
        ir_version=max(part.ir_version for part in parts),
    )
    checker.check_model(joined)
    return joined


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says about its own exporter."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    with warnings.catch_warnings(), ExitStack() as after:
        after.callback(log.setLevel, level)
        warnings.simplefilter("ignore")
        yield
