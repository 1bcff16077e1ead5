"""Inputs of any shape become features."""

import pytest
import torch

from domindex.networks.backbones import Flatten


@pytest.mark.parametrize("leading", [(), (7,), (2, 7)])
@pytest.mark.parametrize(("shape", "n_features"), [((3,), 3), ((4, 5), 20), ((2, 3, 4), 24)])
def test_rows_of_any_shape_are_laid_flat_in_order(leading, shape, n_features):
    backbone = Flatten(shape)
    x = torch.randn(*leading, *shape)
    assert backbone.n_features == n_features
    assert torch.equal(backbone(x), x.reshape(*leading, n_features))
