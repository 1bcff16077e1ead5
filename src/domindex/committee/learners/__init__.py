"""Learners: what can be fitted on the rows of a representation, one file each."""

from domindex.committee.learners.base import register_predictor
from domindex.committee.learners.boosted_linear import BoostedLinearLearner
from domindex.committee.learners.convolutional import ConvolutionalLearner
from domindex.committee.learners.estimators import BoostingLearner, KernelLearner, TreesLearner
from domindex.committee.learners.linear import LinearLearner
from domindex.committee.learners.neighbours import NeighboursLearner

for _learner in (
    LinearLearner(),
    KernelLearner(),
    TreesLearner(),
    BoostingLearner(),
    BoostedLinearLearner(),
    ConvolutionalLearner(),
    NeighboursLearner(),
):
    register_predictor(_learner)
