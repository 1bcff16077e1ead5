"""Deviations of values whose errors have heavy tails: no smaller than the errors are."""

import numpy as np
import pytest

from domindex import CrossDomainRegressor, Training

N_DOMAINS, N_ROWS = 10, 60
NOISE = {
    "Student, 1.5 degrees of freedom": lambda rng, n: rng.standard_t(1.5, n),
    "lognormal": lambda rng, n: rng.lognormal(0, 1.5, n) - np.exp(1.5**2 / 2),
}
SMALLEST = 0.7
"""Of the root mean square of the errors; by quantiles alone it is 0.58 and 0.45 here."""


@pytest.mark.parametrize(
    "noise", ["lognormal", pytest.param("Student, 1.5 degrees of freedom", marks=pytest.mark.full)]
)
def test_the_deviation_is_of_the_size_of_the_errors_in_targets(noise):
    errors, deviations = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        domain = np.repeat(np.arange(N_DOMAINS), N_ROWS)
        X = rng.normal(size=(len(domain), 2)) + 0.5 * domain[:, None]
        y = X.sum(axis=1) + NOISE[noise](rng, len(domain))
        model = CrossDomainRegressor(
            candidates=[("raw", "linear")], training=Training(index_steps=3), random_state=0
        )
        model.fit(X, y, sample_domain=domain, source_domains=range(0, N_DOMAINS, 2))
        target = domain % 2 == 1
        mean, deviation = model.predict(X[target], sample_domain=domain[target], return_std=True)
        errors.append(y[target] - mean)
        deviations.append(deviation)
    size, told = (np.sqrt(np.mean(np.square(parts))) for parts in (errors, deviations))
    assert told > SMALLEST * size
    inside = np.abs(errors) <= 1.645 * np.array(deviations)
    assert inside.mean() > 0.9
