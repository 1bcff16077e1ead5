"""Fitted kernel machines from a file: libsvm takes the sizes of its arrays on trust."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

KERNELS = ("linear", "poly", "rbf", "sigmoid")


def check_machine(machine: SVC | NuSVC | SVR | NuSVR, n_features: int) -> None:
    """ValueError where the arrays of a fitted machine do not fit each other.

    With l support vectors of k classes: vectors (l, n_features), coefficients (k − 1, l), and one
    intercept a pair of classes. A machine for values is one for two classes.
    """
    found = vars(machine)
    n_classes = len(found["classes_"]) if isinstance(machine, SVC | NuSVC) else 2
    vectors, counts = found["support_vectors_"], found["_n_support"]
    size, pairs = len(vectors), n_classes * (n_classes - 1) // 2
    shapes = {
        "support_vectors_": (size, n_features),
        "support_": (size,),
        "_n_support": (n_classes,),
        "_dual_coef_": (n_classes - 1, size),
        "_intercept_": (pairs,),
    }
    for name, shape in shapes.items():
        if not isinstance(found[name], np.ndarray) or found[name].shape != shape:
            raise ValueError(f"{name} of a kernel machine has not shape {shape}")
    if n_classes < 2 or size < 1 or (counts < 0).any():
        raise ValueError("a kernel machine has no classes or no support vectors")
    if isinstance(machine, SVC | NuSVC) and counts.sum() != size:
        raise ValueError("a kernel machine has other support vectors than it says")
    slopes, offsets = found["_probA"], found["_probB"]
    if slopes.shape != offsets.shape or slopes.shape not in ((0,), (pairs,)):
        raise ValueError("the probabilities of a kernel machine do not fit its classes")
    if found["kernel"] not in KERNELS or found["_sparse"]:
        raise ValueError(f"a kernel machine with kernel {found['kernel']!r:.40} cannot be opened")
