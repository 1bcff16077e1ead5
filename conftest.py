"""Fixtures that several tests share."""

import os
import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Some virtual machines claim AMX and do not let it be used: bfloat16 then ends the process. To be
# said before torch is imported; nothing but bfloat16 asks for AMX.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

SHARED_DATA = Path(__file__).parents[1] / "shared" / "data"

LONG = ("test_backbone.py", "test_browser.py", "test_docstrings.py", "test_regressor.py")
"""Files that take half a minute though none of their tests is slow."""


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the paper's files; tests that need them are skipped where it is absent."""
    folder = Path(os.environ.get("DOMINDEX_DATA", SHARED_DATA))
    if not (folder / "month_temp_data.pkl").exists():
        pytest.skip("the paper's data files are not here; set DOMINDEX_DATA to their folder")
    return folder


@pytest.fixture
def stays_itself(tmp_path: Path) -> Callable[[Any, Any, Any], None]:
    """Holds a classifier to its probabilities: opened again to the bit, exported to rounding."""
    import domindex
    from domindex.export.exporting import load_exported

    def check(model: Any, X: Any, sample_domain: Any) -> None:
        expected = model.predict_proba(X, sample_domain=sample_domain)
        model.save(tmp_path / "model")
        opened = domindex.load(tmp_path / "model")
        assert opened.predict_proba(X, sample_domain=sample_domain).tobytes() == expected.tobytes()
        model.export(tmp_path / "exported")
        program = load_exported(tmp_path / "exported")
        exported = program.predict_proba(X, sample_domain=sample_domain)
        np.testing.assert_allclose(exported, expected, atol=1e-9)

    return check


@pytest.fixture(scope="session", autouse=True)
def _equal_flows_are_solved_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Half of a small fit is spent on its flow, and many tests fit the same rows: `make test`
    remembers the flow of each input, byte for byte. `make test-all` solves every one anew.
    """
    if request.config.option.markexpr != "not full":
        yield
        return
    from domindex.geometry import flow  # not above: torch comes with it

    solve, solved = flow.solve_flow, {}

    def remembered(*inputs, **more):
        key = pickle.dumps((inputs, more))
        if key not in solved:
            solved[key] = solve(*inputs, **more)
        return deepcopy(solved[key])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(flow, "solve_flow", remembered)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long first: the last thing to run on several cores shall be short."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow and item.path.name not in LONG)
