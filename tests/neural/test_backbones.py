"""Inputs of any shape become features: as they are, or through a network by name."""

import pytest
import torch

from domindex.errors import InputError
from domindex.neural.builtin_backbones import Flatten, ResNet18, built_in, picture_axes


@pytest.mark.parametrize("leading", [(), (7,), (2, 7)])
@pytest.mark.parametrize(("shape", "n_features"), [((3,), 3), ((4, 5), 20), ((2, 3, 4), 24)])
def test_rows_of_any_shape_are_laid_flat_in_order(leading, shape, n_features):
    backbone = Flatten(shape)
    x = torch.randn(*leading, *shape)
    assert backbone.n_features == n_features
    assert torch.equal(backbone(x), x.reshape(*leading, n_features))


def test_a_picture_has_the_same_features_wherever_its_channels_stand():
    torch.manual_seed(0)
    last = built_in("conv", (12, 10, 3))
    first = built_in("conv", (3, 12, 10))
    first.load_state_dict(last.state_dict())
    x = torch.randn(4, 12, 10, 3)
    torch.testing.assert_close(first(x.permute(0, 3, 1, 2)), last(x))


def test_a_signal_without_channels_is_one_of_a_single_channel():
    torch.manual_seed(0)
    plain, single = built_in("temporal", (40,)), built_in("temporal", (40, 1))
    single.load_state_dict(plain.state_dict())
    x = torch.randn(4, 40)
    torch.testing.assert_close(single(x[:, :, None]), plain(x))


def test_a_grey_picture_is_shown_in_all_colours():
    torch.manual_seed(0)
    grey, colour = ResNet18(1).eval(), ResNet18(3).eval()
    colour.load_state_dict(grey.state_dict())
    x = torch.randn(2, 1, 32, 32)
    torch.testing.assert_close(grey(x), colour(x.repeat(1, 3, 1, 1)))


def test_resnet18_has_the_parameters_that_torchvision_publishes():
    weights = ResNet18().state_dict()
    n_learned = sum(w.numel() for name, w in weights.items() if not _is_statistic(name))
    assert n_learned == 11_689_512 - (512 * 1000 + 1000)  # published, without the last layer
    assert weights["conv1.weight"].shape == (64, 3, 7, 7)
    assert weights["layer1.1.bn2.running_var"].shape == (64,)
    assert weights["layer3.0.downsample.1.weight"].shape == (256,)
    assert "layer1.0.downsample.0.weight" not in weights


def _is_statistic(name: str) -> bool:
    return name.endswith(("running_mean", "running_var", "num_batches_tracked"))


@pytest.mark.parametrize("shape", [(7,), (8, 9, 10), (2, 3, 4, 5)])
def test_what_is_no_picture_is_refused_with_its_shape(shape):
    with pytest.raises(InputError, match=r"are no pictures for this backbone"):
        picture_axes(shape)


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(InputError, match=r"no backbone 'resnet19'.*Did you mean 'resnet18'"):
        built_in("resnet19", (8, 8))
    with pytest.raises(InputError, match="temporal' is for signals"):
        built_in("temporal", (8, 8, 3))
