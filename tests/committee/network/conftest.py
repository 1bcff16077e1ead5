"""Small encodings, and small trainings with one seed for every test."""

import numpy as np
import pytest
from small_training import (  # noqa: F401 - pytest finds them here
    N_FEATURES,
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

from domindex.committee.alignments import FlowAlignment, IdentityAlignment
from domindex.committee.encoding import EncodingModule
from domindex.geometry.domain_geometry import Subspace
from domindex.geometry.flow import AffineFlow
from domindex.vdi.alignments import AffineAlignment
from domindex.vdi.networks import ClassPredictor


def encoding_of(alignment) -> EncodingModule:
    return EncodingModule(alignment, ClassPredictor(alignment.latent_dim, 3), 3, 2, width=8)


@pytest.fixture(params=["flow", "affine"])
def module(request) -> EncodingModule:
    """Of alignments that follow the index."""
    flow = AffineFlow(np.full((1, 6), 0.3), np.eye(6), "affine", 0.0)
    return encoding_of(
        FlowAlignment.along(flow, Subspace(np.eye(2), 2), width=8)
        if request.param == "flow"
        else AffineAlignment(N_FEATURES, 2, width=8)
    )


@pytest.fixture
def still_module() -> EncodingModule:
    return encoding_of(IdentityAlignment.onto(np.eye(N_FEATURES), 8, may_bend=True))
