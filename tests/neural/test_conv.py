import pytest
import torch

from domindex.neural.builtin_backbones import ConvolutionalFeatures


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 28, 20), (2, 5, 40), (1, 100), (3, 3)])
def test_rows_of_any_leading_shape_become_features(shape):
    features = ConvolutionalFeatures(shape)
    assert features(torch.randn(2, 3, *shape)).shape == (2, 3, features.n_features)


def test_a_rows_features_do_not_depend_on_its_batch():
    torch.manual_seed(0)
    features, rows = ConvolutionalFeatures((1, 12, 12)), torch.randn(6, 1, 12, 12)
    assert torch.allclose(features(rows)[2:3], features(rows[2:3]), atol=1e-6)


def test_large_grids_end_in_few_cells():
    assert ConvolutionalFeatures((3, 224, 224)).n_features == 64 * 4 * 4


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="neither signals nor pictures"):
        ConvolutionalFeatures((1, 4, 4, 4))
