"""Fixtures that several tests share."""

import os
from pathlib import Path

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long first: the last thing to run on several cores shall be short."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow and item.path.name not in LONG)
