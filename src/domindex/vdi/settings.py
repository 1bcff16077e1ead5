"""What can be set about the networks of the indices and of the encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sklearn.base import BaseEstimator

from domindex.errors import InputError
from domindex.inputs.parameters import require_counts, require_numbers
from domindex.vdi.adversary import KINDS


@dataclass(frozen=True)
class Weights:
    """How much each term counts. Losses are to be minimised; terms of the bound, maximised."""

    input_reconstruction: float = 1.0
    local_index: float = 0.1
    contrastive: float = 0.1
    encoding: float = 1.0
    adversary: float = 6.0
    smoothness: float = 1.0
    strain: float = 0.3


class Network(BaseEstimator):
    """The shape of the networks and the weights of their objective.

    Parameters
    ----------
    width : size of hidden layers
    adversary : what is hidden from z: any of "graph", "domain", "index"
    adversary_weight : how much hiding counts
    contrastive_weight : how much local indices of one domain shall agree while they learn
    smoothness_weight : how little predictions may change from a domain to its neighbour

    Examples
    --------
    >>> from domindex import Network, CrossDomainClassifier
    >>> CrossDomainClassifier(network=Network(width=128)).get_params()["network__width"]
    128
    """

    def __init__(
        self,
        *,
        width: int = 64,
        adversary: Sequence[str] = ("graph", "domain"),
        adversary_weight: float = 6.0,
        contrastive_weight: float = 0.1,
        smoothness_weight: float = 1.0,
    ) -> None:
        self.width = width
        self.adversary = adversary
        self.adversary_weight = adversary_weight
        self.contrastive_weight = contrastive_weight
        self.smoothness_weight = smoothness_weight

    def check(self) -> None:
        """Refuse what cannot be used."""
        require_counts(self, "width")
        require_numbers(self, "adversary_weight", "contrastive_weight", "smoothness_weight")
        listed = isinstance(self.adversary, list | tuple) and len(self.adversary) > 0
        if not listed or any(kind not in KINDS for kind in self.adversary):
            raise InputError(f"adversary is {self.adversary}. Choose one or more of {KINDS}.")

    def weights(self) -> Weights:
        return Weights(
            contrastive=self.contrastive_weight,
            adversary=self.adversary_weight,
            smoothness=self.smoothness_weight,
        )
