"""What a user may name as a path, and what is none."""

from pathlib import Path

import pytest

from domindex.errors import InputError
from domindex.persistence.paths import usable_path


def test_a_path_may_lead_to_nothing_yet(tmp_path):
    assert usable_path(str(tmp_path / "new" / "one")) == tmp_path / "new" / "one"
    assert usable_path("~/here") == Path.home() / "here"


@pytest.mark.parametrize("given", [None, 3, 1.5, b"bytes", [], {"a": 1}, object()])
def test_what_is_no_path_is_named(given):
    with pytest.raises(InputError, match=r"is no path\. Pass a text, or a pathlib\.Path"):
        usable_path(given)


@pytest.mark.parametrize("given", ["x" * 5000, "x/" * 3000, "a\0b", "~nobody-of-that-name/x"])
def test_what_the_system_cannot_look_up_is_named_shortly(given):
    with pytest.raises(InputError, match="cannot be used as a path") as said:
        usable_path(given)
    assert len(str(said.value)) < 300
