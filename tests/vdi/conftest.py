"""Small trainings, one seed for every test."""

from small_training import (  # noqa: F401 - pytest finds them here
    _one_thread,
    _seeded,
    adversary,
    assert_within,
    batch,
    cpu,
    indices,
    line,
    rows,
    settings,
    touched,
)
