"""What a saved estimator may be made of: named classes, whose code is known not to run the file's.

Left out on purpose is whatever hands arrays of the file to compiled code that does not check them,
and that nobody here checks either: search trees of nearest neighbours, spline bases and the older
gradient boosting. Functions and methods are left out too.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

_PUBLIC = {
    "sklearn._loss._loss": "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
    "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHuberLoss CyPinballLoss",
    "sklearn.calibration": "CalibratedClassifierCV",
    "sklearn.compose": "TransformedTargetRegressor",
    "sklearn.cross_decomposition": "CCA PLSCanonical PLSRegression",
    "sklearn.decomposition": "FastICA KernelPCA PCA TruncatedSVD",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.ensemble": "AdaBoostClassifier BaggingClassifier BaggingRegressor "
    "ExtraTreesClassifier ExtraTreesRegressor HistGradientBoostingClassifier "
    "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor "
    "StackingClassifier StackingRegressor VotingClassifier VotingRegressor",
    "sklearn.feature_selection": "VarianceThreshold",
    "sklearn.impute": "SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_approximation": "Nystroem PolynomialCountSketch RBFSampler SkewedChi2Sampler",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.linear_model": "ARDRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
    "HuberRegressor Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression "
    "LogisticRegression LogisticRegressionCV MultiTaskElasticNet MultiTaskElasticNetCV "
    "MultiTaskLasso MultiTaskLassoCV OrthogonalMatchingPursuit PoissonRegressor "
    "QuantileRegressor Ridge RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier "
    "SGDRegressor TheilSenRegressor TweedieRegressor",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier",
    "sklearn.multioutput": "MultiOutputRegressor RegressorChain",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier MLPRegressor",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": "Binarizer KernelCenterer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler StandardScaler",
    "sklearn.random_projection": "GaussianRandomProjection",
    "sklearn.svm": "LinearSVC LinearSVR NuSVC NuSVR SVC SVR",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier "
    "ExtraTreeRegressor",
    "sklearn.utils": "Bunch",
}
"""Classes by the module that offers them; in files they have the module that they name."""

_PARTS = {
    "builtins": "bool dict float int list str tuple",
    "numpy": "bool bool_ dtype float32 float64 int32 int64 ndarray uint32 uint64 uint8",
    "numpy.random._generator": "Generator",
    "numpy.random.mtrand": "RandomState",
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
    "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HuberLoss PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
}
"""What those are made of, by where it is defined."""

LOADERS = frozenset(
    {
        "DTypeNode",
        "DictNode",
        "JsonNode",
        "ListNode",
        "LossNode",
        "NdArrayNode",
        "ObjectNode",
        "RandomGeneratorNode",
        "RandomStateNode",
        "TreeNode",
        "TupleNode",
        "TypeNode",
    }
)
"""The ways of skops to make an object that none of these needs more than."""


@cache
def trusted_types() -> frozenset[str]:
    """Full names, as they stand in a file; what this scikit-learn does not have is left out."""
    names = {f"{module}.{name}" for module, listed in _PARTS.items() for name in listed.split()}
    for module, listed in _PUBLIC.items():
        for name in listed.split():
            kind = getattr(import_module(module), name, None)
            if kind is not None:
                names.add(f"{kind.__module__}.{kind.__name__}")
    return frozenset(names)
