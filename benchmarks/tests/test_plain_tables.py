"""The default beside plain methods."""

import pytest

from domindex_bench.plain_tables import is_plain


@pytest.mark.parametrize(
    ("method", "expected"),
    [("boosting", True), ("forest-ds", True), ("coral", False), ("vdi-no-flow", False)],
)
def test_what_adapts_is_not_plain(method, expected):
    assert is_plain(method) is expected
