"""Learners: what can be fitted on the rows of a representation."""

from domindex.committee.learners.base import register_predictor
from domindex.committee.learners.boosters import CatBoostLearner, LightGBMLearner
from domindex.committee.learners.convolutional import ConvolutionalLearner
from domindex.committee.learners.estimators import (
    BoostedLinearLearner,
    BoostingLearner,
    KernelLearner,
    LinearLearner,
    NeighboursLearner,
    TreesLearner,
)

for _learner in (
    LinearLearner(),
    KernelLearner(),
    TreesLearner(),
    BoostingLearner(),
    BoostedLinearLearner(),
    ConvolutionalLearner(),
    NeighboursLearner(),
    CatBoostLearner(),
    LightGBMLearner(),
):
    register_predictor(_learner)
