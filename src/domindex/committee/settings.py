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

    Attributes
    ----------
    max_misfit : of a flow, beyond which inputs are taken to be bent and straightened first. C
    clear_gain : standard errors by which still coordinates must lower the held-out error. C
    near_folds, far_folds : how many there are at most; for time, not tuned
    max_train_rows, max_held_out_rows : in a fold; for time, not tuned
    separability_folds : folds of each kind in which held-out sources are separated; for time
    penalties : of linear rules, relative to the mean loss of a row; a grid of decades
    smoothing : share of every probability that is spread over all classes, so that one confident
        mistake does not decide; not tuned
    risk_margin : standard errors of its paired gain on the best plain candidate that any other
        candidate pays, widened for few held-out domains as Student's quantile is. R
    separability_penalty : of a unit of discriminability that targets have beyond held-out sources,
        in units of what the held-out losses can resolve. R, C
    range_penalty : of a prediction out of the range of known outputs, per unit of spread: the slope
        of a squared error of one spread; not tuned
    move_tolerance : AUC by which a representation that moves domains may leave targets easier to
        separate from sources than raw inputs do, or else is left out; and by which it must leave
        them harder to separate, or else has the penalty of these; about two standard errors. R
    softness : relative loss at which a candidate no longer counts among the best few. R
    bootstrap : draws of held-out domains over which stacking is averaged; for time, not tuned
    steps : of stacking in every draw; a tenth and ten times as many change little. R
    min_weight : below it a member is left out; for time, not tuned
    coverage : share of held-out residuals that an interval of that probability shall hold;
        a definition, not tuned
    network_weight : that candidates on the flow must have before the network, which learns to align
        further, is tried: where the closed form is of no use, the network that starts there has
        never been; for time, not tuned
    max_mistakes : rows a held-out domain up to which nothing slower is tried; for time, not tuned
    self_trained : candidates that are also tried with their own labels of the targets, the
        heaviest; for time
    max_target_rows : at which predictions are looked at for values out of range; for time
    max_cells : of a picture or a signal, beyond which boosting and balancing are not tried; for
        time, not tuned
    max_latent : components of z; rows with more features are reduced to their principal ones;
        for memory, not tuned
    """

    max_misfit: float = 1.15
    clear_gain: float = 2.0
    near_folds: int = 4
    far_folds: int = 6
    max_train_rows: int = 4000
    max_held_out_rows: int = 1000
    separability_folds: int = 2
    penalties: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    smoothing: float = 0.02
    risk_margin: float = 1.0
    separability_penalty: float = 1.0
    range_penalty: float = 2.0
    move_tolerance: float = 0.03
    softness: float = 0.05
    bootstrap: int = 20
    steps: int = 600
    min_weight: float = 0.02
    coverage: float = 0.9
    network_weight: float = 0.25
    max_mistakes: float = 2.0
    self_trained: int = 2
    max_target_rows: int = 2000
    max_cells: int = 256
    max_latent: int = 128
