"""Cross-validation over domains: sources and targets on both sides of every split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from domindex.arrays import Ints
from domindex.errors import InputError
from domindex.inputs.gate import domain_roles
from domindex.inputs.names import check_domain_names, number_names, order_names

ScoreOn = Literal["both", "sources"]


class DomainKFold(BaseCrossValidator):
    """Whole domains are held out in turn, and every side keeps sources and targets.

    A fit needs domains of both kinds, and splitters that know of groups only may put all of one
    kind on one side. Here the source domains are dealt out over the folds, and so are the targets:
    a held-out domain is one that the model has never seen, as those are that turn up after a fit.
    `cross_validate_domains` leaves the rows of held-out sources with the fit, without their labels,
    as those of the targets of a fit are. For scikit-learn's `cross_val_score`, `GridSearchCV` and
    the like, with metadata routing switched on:

    `cross_val_score(model, X, y, cv=DomainKFold(3), params={"sample_domain": names,
    "source_domains": is_source})`, where `is_source` is an array of a truth value a row, so that it
    is split with the rows.

    Parameters
    ----------
    n_splits : folds; no more than there are source domains, or target domains
    score_on : "both" holds out sources and targets, for scores that compare the two or for targets
        whose labels are known; "sources" holds out sources only, whose labels are, and leaves all
        targets to every fit
    shuffle : deal domains out at random, not in their order
    random_state : seed of that

    Examples
    --------
    >>> import numpy as np
    >>> from domindex.evaluation import DomainKFold
    >>> names = np.repeat(["a", "b", "c", "d"], 2)
    >>> is_source = np.isin(names, ["a", "b"])
    >>> told = {"sample_domain": names, "source_domains": is_source}
    >>> folds = DomainKFold(2).split(np.zeros((8, 1)), **told)
    >>> [sorted(set(names[test].tolist())) for _, test in folds]
    [['a', 'c'], ['b', 'd']]
    """

    __metadata_request__split: ClassVar = {"sample_domain": True, "source_domains": True}

    def __init__(
        self,
        n_splits: int = 3,
        *,
        score_on: ScoreOn = "both",
        shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        whole = isinstance(n_splits, int | np.integer) and not isinstance(n_splits, bool)
        if not whole or n_splits < 2:
            raise InputError(f"n_splits is {n_splits!r:.60}. Choose a whole number of 2 or more.")
        if score_on not in get_args(ScoreOn):
            raise InputError(f"score_on is {score_on!r:.60}. Choose one of {get_args(ScoreOn)}.")
        self.n_splits = int(n_splits)
        self.score_on = score_on
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(
        self,
        X: Any = None,
        y: Any = None,
        groups: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Any = None,
    ) -> int:
        """How many folds there are; the data are not looked at."""
        return self.n_splits

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        sample_domain: Any = None,
        source_domains: Any = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Ints of the rows to fit on, and of those held out, fold by fold.

        Parameters
        ----------
        X : of which only the number of rows is looked at
        y : not looked at
        groups : the domain of every row, where there is no `sample_domain`
        sample_domain : a domain name per row, as in `fit`
        source_domains : the labelled domains, as in `fit`
        """
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        names = check_domain_names(groups if sample_domain is None else sample_domain, n_rows)
        domains = order_names(names)
        row_domains = number_names(names, domains)
        is_source = domain_roles(domains, row_domains, source_domains)
        fold_of_domain = self._deal(is_source)
        for fold in range(self.n_splits):
            is_test = fold_of_domain[row_domains] == fold
            yield np.flatnonzero(~is_test), np.flatnonzero(is_test)

    def _deal(self, is_source: NDArray[np.bool_]) -> Ints:
        """(domains,) the fold that holds each out; −1 for those that no fold does."""
        folds = np.full(len(is_source), -1, dtype=np.int64)
        rng = check_random_state(self.random_state)
        kinds: Sequence[tuple[str, bool]] = (("source", True), ("target", False))
        for what, kind in kinds[: 1 if self.score_on == "sources" else 2]:
            members = np.flatnonzero(is_source == kind)
            if len(members) < self.n_splits:
                raise InputError(
                    f"n_splits is {self.n_splits}, and there are {len(members)} {what} domains to "
                    f"hold out. Choose {len(members)} or fewer"
                    f"{'' if kind else ', or score_on=' + repr('sources')}."
                )
            order = rng.permutation(members) if self.shuffle else members
            folds[order] = np.arange(len(order)) % self.n_splits
        return folds
