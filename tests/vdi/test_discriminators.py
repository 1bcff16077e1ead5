"""Adversaries give scores of the right shape."""

import torch

from domindex.vdi.networks import DomainClassifier, GraphEmbedder, IndexRegressor


def test_discriminators_give_scores_of_the_right_shape():
    z = torch.randn(2, 5, 4)
    assert DomainClassifier(4, 9, width=8)(z).shape == (2, 5, 9)
    assert IndexRegressor(4, 2, width=8)(z).shape == (2, 5, 2)
    assert GraphEmbedder(4, width=8)(z).shape == (2, 5, 16)
