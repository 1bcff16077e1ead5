"""What can be set about networks: as scikit-learn's parameters, with refusals that say why."""

import pytest
from sklearn.base import clone

from domindex import CrossDomainClassifier, Network
from domindex.errors import InputError
from domindex.vdi.settings import Weights


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "width is 0. Choose a whole number of 1 or more"),
        ({"adversary_weight": -1.0}, "adversary_weight is -1.0. Choose 0 or more"),
        ({"contrastive_weight": float("nan")}, "contrastive_weight is nan. Choose 0 or more"),
        ({"smoothness_weight": -0.1}, "smoothness_weight is -0.1. Choose 0 or more"),
        ({"adversary": ()}, r"adversary is \(\). Choose one or more of \('graph', 'domain'"),
        ({"adversary": ("graph", "mmd")}, "adversary is .*mmd.* Choose one or more of"),
        ({"adversary": "graph"}, "adversary is graph. Choose one or more of"),
    ],
)
def test_a_network_that_cannot_be_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Network(**settings).check()


def test_weights_of_a_network_are_those_of_its_objective():
    weights = Network(adversary_weight=1.0, contrastive_weight=2.0, smoothness_weight=3.0).weights()
    assert weights == Weights(adversary=1.0, contrastive=2.0, smoothness=3.0)
    assert Network().weights() == Weights()


def test_settings_of_a_network_are_nested_parameters_too():
    model = CrossDomainClassifier(network=Network()).set_params(network__adversary=("index",))
    assert clone(model).network.adversary == ("index",)


def test_a_network_that_can_be_is_taken():
    Network().check()
    Network(adversary=["index"], adversary_weight=0.0, contrastive_weight=0, width=1).check()
