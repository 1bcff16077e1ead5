"""The adversary: how well the domain, its index and its neighbours are read off z.

Each loss is divided by what guessing costs, so 1 means "nothing can be read" and one weight means
the same on 15 domains and on 60.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.stats import chi2_contingency
from sklearn.feature_selection import f_classif
from torch import Tensor, nn
from torch.nn import functional

from domindex.errors import InputError
from domindex.inputs import DomainData
from domindex.neural.batches import DomainFacts

KINDS = ("graph", "domain", "index")


def labels_depend_on_source(data: DomainData, level: float = 0.01) -> bool:
    """Whether labels differ from source to source by more than chance.

    If they do, no z that hides the domain predicts them: part 1 of Definition 3.1 stands against
    part 3. Chi-squared of classes, analysis of variance of values, both of the sources alone.
    """
    labels = data.labels[data.row_is_source]
    sources = data.row_domains[data.row_is_source]
    if data.classes is not None:
        _, kinds = np.unique(labels, return_inverse=True)
        _, places = np.unique(sources, return_inverse=True)
        counts = np.zeros((places.max() + 1, kinds.max() + 1))
        np.add.at(counts, (places, kinds), 1)
        return min(counts.shape) > 1 and bool(chi2_contingency(counts).pvalue < level)
    values = labels[:, labels.std(axis=0) > 0]
    n_sources = len(np.unique(sources))
    if n_sources < 2 or len(values) <= n_sources or not values.shape[1]:
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        chances = f_classif(values, sources)[1]
    return bool((chances * values.shape[1] < level).any())


def reader(n_inputs: int, n_outputs: int, width: int) -> nn.Sequential:
    """A network that reads something off z, of any leading shape."""
    return nn.Sequential(
        nn.Linear(n_inputs, width),
        nn.LeakyReLU(0.1),
        nn.Linear(width, width),
        nn.LeakyReLU(0.1),
        nn.Linear(width, n_outputs),
    )


class Adversary(nn.Module):
    """Equation 18: R_D, the mean of the chosen losses of reading `facts` off z."""

    def __init__(
        self, kinds: Sequence[str], latent_dim: int, n_domains: int, index_dim: int, width: int
    ) -> None:
        super().__init__()
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            raise InputError(f"adversary is {tuple(kinds)}. Choose one or more of {KINDS}.")
        sizes = {"graph": 16, "domain": n_domains, "index": index_dim}
        heads = {kind: reader(latent_dim, sizes[kind], width) for kind in KINDS}
        self.heads = nn.ModuleDict({kind: heads[kind] for kind in kinds})

    def forward(self, z: Tensor, facts: DomainFacts) -> Tensor:
        losses = [LOSSES[kind](head(z), facts) for kind, head in self.heads.items()]
        return torch.stack(losses).mean()


def domain_loss(scores: Tensor, facts: DomainFacts, max_scores: int = 2**22) -> Tensor:
    """Equation 19: −E[log D(k|z)] / log N, the paper's adversary, from scores (domains, batch, N).

    At most `max_scores` enter, for memory.
    """
    n_classes = scores.shape[-1]
    scores = scores[:, : max(1, max_scores // (len(facts.links) * n_classes))]
    true = scores.gather(2, facts.numbers[:, None, None].expand(*scores.shape[:2], 1)).squeeze(2)
    return (scores.logsumexp(dim=2) - true).mean() / math.log(n_classes)


def index_loss(guesses: Tensor, facts: DomainFacts) -> Tensor:
    """E‖β̂ − β‖² relative to the spread of β over domains, from guesses (domains, batch, dim)."""
    beta = facts.beta
    spread = (beta - beta.mean(dim=0)).square().mean().clamp_min(1e-6)
    return (guesses - beta[:, None, :]).square().mean() / spread


def graph_loss(embeddings: Tensor, facts: DomainFacts) -> Tensor:
    """Cross-entropy of "k and j are joined" by ⟨e_k, e_j⟩ / √size, both kinds weighing equally.

    `embeddings` are (domains, batch, size), perhaps of several folds; the i-th rows of two domains
    of a fold make a pair.
    """
    first, second, joined = _pairs(facts.links, facts.generator)
    n_domains = len(facts.links)
    by_row = embeddings.unflatten(0, (-1, n_domains)).transpose(1, 2).flatten(0, 1)
    # Products of all pairs are cheaper than to gather the chosen.
    products = (by_row @ by_row.mT).flatten(1) / math.sqrt(embeddings.shape[-1])
    logits = products.index_select(1, first * n_domains + second)
    losses = functional.binary_cross_entropy_with_logits(
        logits, joined.to(logits.dtype).expand_as(logits), reduction="none"
    ).mean(dim=0)
    kinds = [losses[joined], losses[~joined]]
    return torch.stack([kind.mean() for kind in kinds if len(kind)]).mean() / math.log(2.0)


def _pairs(
    links: Tensor, generator: torch.Generator | None = None, max_pairs: int = 2048
) -> tuple[Tensor, Tensor, Tensor]:
    """All pairs of domains, or, where they are many, some of the joined and some of the others."""
    first, second = torch.triu_indices(len(links), len(links), offset=1, device=links.device)
    joined = links[first, second]
    if len(joined) <= max_pairs:
        return first, second, joined
    chosen = []
    for kind in (joined, ~joined):
        candidates = kind.nonzero().squeeze(-1)
        order = torch.randperm(len(candidates), device=links.device, generator=generator)
        chosen.append(candidates[order[: max_pairs // 2]])
    drawn = torch.cat(chosen)
    return first[drawn], second[drawn], joined[drawn]


LOSSES: dict[str, Callable[[Tensor, DomainFacts], Tensor]] = {
    "graph": graph_loss,
    "domain": domain_loss,
    "index": index_loss,
}
