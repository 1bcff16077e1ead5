"""The size of the house: lines, files, constants, and what one default fit goes through.

domindex-bench house [SRC]   SRC is the folder that holds domindex/, by default src/
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]


def is_numeric(node: ast.expr | None) -> bool:
    """A number, an expression of numbers, or a tuple of them."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return is_numeric(node.left) and is_numeric(node.right)
    return isinstance(node, ast.Tuple) and bool(node.elts) and all(map(is_numeric, node.elts))


def constants(tree: ast.Module) -> Iterator[str]:
    """Names of the module's numeric constants."""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = zip(target.elts, value.elts)
                yield from (ast.unparse(name) for name, one in pairs if is_numeric(one))
            elif is_numeric(value):
                yield ast.unparse(target)


def functions(tree: ast.Module) -> Iterator[int]:
    """Lines of every function's body, without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def count(package: Path) -> dict[str, Any]:
    """Figures of the text alone."""
    paths = sorted(package.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    sizes = [size for tree in trees for size in functions(tree)]
    found = {path: list(constants(tree)) for path, tree in zip(paths, trees)}
    return {
        "files": len(paths),
        "lines": sum(text.count("\n") for text in texts),
        "numeric constants": sum(map(len, found.values())),
        "functions": len(sizes),
        "median function": median(sizes),
        "functions of two lines or fewer": sum(size <= 2 for size in sizes),
        "functions over 60 lines": sum(size > 60 for size in sizes),
    }


def walk(package: Path) -> dict[str, int]:
    """Modules, functions, changes of module and depth of one default fit, by watching it."""
    import domindex
    from domindex.datasets import make_circle

    kind = domindex.CrossDomainClassifier
    data = make_circle(n_domains=10, n_sources=4, samples_per_domain=40, random_state=0)
    prefix, modules, called = str(package), set(), set()
    changes, deepest, stack = 0, 0, [""]

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal changes, deepest
        name = frame.f_code.co_filename
        if not name.startswith(prefix):
            return
        if event == "call":
            modules.add(name)
            called.add((name, frame.f_code.co_firstlineno))
            changes += name != stack[-1]
            stack.append(name)
            deepest = max(deepest, len(stack) - 1)
        elif event == "return" and len(stack) > 1:
            stack.pop()

    model = kind(n_jobs=1, random_state=0)
    sys.setprofile(watch)
    try:
        model.fit(
            data.X, data.y, sample_domain=data.sample_domain, source_domains=data.source_domains
        )
    finally:
        sys.setprofile(None)
    return {
        "modules of a fit": len(modules),
        "functions of a fit": len(called),
        "calls into another module": changes,
        "deepest stack of a fit": deepest,
    }


def main() -> None:
    source = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "src"
    sys.path.insert(0, str(source))
    package = source / "domindex"
    print(json.dumps(count(package) | walk(package), indent=1))


if __name__ == "__main__":
    main()
