"""The paper's Lemmas and Theorems, by number, on small discrete worlds where all is exact.

Lemma 4.1: E_p(x,y)[ELBO] ≤ I(y; z) + I(x; u, β, z) − [H(y) + H(x)], with I(y; z) under
r(x, y, z) = p(x, y) q(z|x) and I(x; u, β, z) under s = p(x) q(u, β, z|x).

Lemma 4.2: max_D E[log D(k|z)] = I(z; β) + I(z; k|β) − H(k), for β a function of the domain k;
its least value, −H(k), is reached if and only if I(z; β) = I(z; k|β) = 0.

Theorem 4.1: E[ELBO] − λ max_D E[log D(k|z)] is no larger than the bound of Lemma 4.1 less λ times
the right side of Lemma 4.2; the paper prints it for λ = 1.

Theorem 4.2: at the global optimum of that objective I(z; β) = I(z; k|β) = 0, and I(x; u, β, z) and
I(y; z) are maximal; and only there. It holds of the right side of Theorem 4.1 where an encoding can
have all three. Of the objective itself it holds without I(x; u, β, z), which the objective does not
see. Where y is not as frequent in every domain, it needs more: see the last tests.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

SEEDS = range(20)
X, U, B, Z = 0, 1, 2, 3  # axes of s(x, u, β, z)
K, BETA, ENCODING = 0, 1, 2  # axes of s(k, β, z)


def entropy(table, axes=None):
    """H(a) = −Σ p(a) log p(a), in nats, of the variables on `axes` of a joint table."""
    joint = np.asarray(table, dtype=np.float64)
    others = () if axes is None else tuple(set(range(joint.ndim)) - set(axes))
    marginal = joint.sum(axis=others)
    positive = marginal[marginal > 0.0]
    return float(-(positive * np.log(positive)).sum())


def mutual_information(table, first, second, given=()):
    """I(a; b | c) = H(a, c) + H(b, c) − H(a, b, c) − H(c) of a joint table."""
    a, b, c = list(first), list(second), list(given)
    joined = entropy(table, a + b + c) + entropy(table, c)
    return entropy(table, a + c) + entropy(table, b + c) - joined


def test_information_of_known_tables():
    copy = np.eye(4) / 4
    assert entropy([1.0, 0.0]) == 0.0
    assert mutual_information(copy, [0], [1]) == pytest.approx(np.log(4))
    parity = np.array([[[0.25, 0], [0, 0.25]], [[0, 0.25], [0.25, 0]]])
    assert mutual_information(parity, [0], [2]) == pytest.approx(0, abs=1e-12)
    assert mutual_information(parity, [0], [2], given=[1]) == pytest.approx(np.log(2))


def random_table(rng, *shape, given=0):
    """A distribution over all but the first `given` axes, conditioned on those."""
    table = rng.gamma(0.7, size=shape) + 1e-3
    return table / table.sum(axis=tuple(range(given, len(shape))), keepdims=True)


def conditional(table, axis) -> np.ndarray:
    """A joint table as a distribution over `axis` given all others; zeros where nothing is."""
    total = table.sum(axis=axis, keepdims=True)
    return np.divide(table, total, out=np.zeros_like(table), where=total > 0)


@dataclass(frozen=True)
class World:
    """Data p(x, y); the model p and the inference q, as the paper factorises them."""

    data: np.ndarray  # x, y
    p_beta: np.ndarray  # β
    p_u: np.ndarray  # β, u
    p_x: np.ndarray  # u, x
    p_z: np.ndarray  # x, u, β, z
    p_y: np.ndarray  # z, y
    q_u: np.ndarray  # x, u
    q_beta: np.ndarray  # u, β
    q_z: np.ndarray  # x, u, β, z

    @property
    def latents_given_x(self):
        """q(u, β, z|x)."""
        return np.einsum("xu,ub,xubz->xubz", self.q_u, self.q_beta, self.q_z)

    @property
    def joint(self):
        """s(x, u, β, z) = p(x) q(u, β, z|x)."""
        return self.data.sum(axis=1)[:, None, None, None] * self.latents_given_x

    @property
    def labelled(self):
        """r(y, z) = Σₓ p(x, y) q(z|x)."""
        return np.einsum("xy,xubz->yz", self.data, self.latents_given_x)

    @property
    def model_joint(self):
        """p(x, u, β, z), without y."""
        return np.einsum("b,bu,ux,xubz->xubz", self.p_beta, self.p_u, self.p_x, self.p_z)

    @property
    def label_term(self):
        """E[log p(y|z)]."""
        return mean_log(self.labelled, self.p_y.T)

    @property
    def input_term(self):
        """E[log p(x|u, β, z)]."""
        posterior = self.model_joint / self.model_joint.sum(axis=X, keepdims=True)
        return mean_log(self.joint, posterior)

    @property
    def elbo(self):
        """E[log p(x, u, β, z, y) − log q(u, β, z|x)], averaged over the data."""
        inner = mean_log(self.joint, self.model_joint) - mean_log(self.joint, self.latents_given_x)
        return self.label_term + inner

    @property
    def bound(self):
        """The right-hand side of Lemma 4.1."""
        return (
            mutual_information(self.labelled, [0], [1])
            + mutual_information(self.joint, [X], [U, B, Z])
            - entropy(self.data, [1])
            - entropy(self.data, [0])
        )


def random_world(seed) -> World:
    rng = np.random.default_rng(seed)
    n_x, n_y, n_u, n_b, n_z = 4, 3, 3, 2, 3
    return World(
        data=random_table(rng, n_x, n_y),
        p_beta=random_table(rng, n_b),
        p_u=random_table(rng, n_b, n_u, given=1),
        p_x=random_table(rng, n_u, n_x, given=1),
        p_z=random_table(rng, n_x, n_u, n_b, n_z, given=3),
        p_y=random_table(rng, n_z, n_y, given=1),
        q_u=random_table(rng, n_x, n_u, given=1),
        q_beta=random_table(rng, n_u, n_b, given=1),
        q_z=random_table(rng, n_x, n_u, n_b, n_z, given=3),
    )


def mean_log(weights, values) -> float:
    """Σ w log v, where nothing counts that has no weight."""
    seen = weights > 0
    return float((weights[seen] * np.log(np.broadcast_to(values, weights.shape)[seen])).sum())


def divergence(first, second) -> float:
    return mean_log(first, first) - mean_log(first, second)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_4_1_no_model_has_an_elbo_above_the_information_of_its_latents(seed):
    world = random_world(seed)
    assert world.elbo < world.bound


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_4_1_falls_short_by_two_misfits_and_by_the_whole_information_on_x(seed):
    """The divergence of q(u, β, z|x) from p(u, β, z), which the proof drops, holds I(x; u, β, z).

    bound − ELBO = KL[r(y|z) ‖ p(y|z)] + KL[s(x|·) ‖ p(x|·)] + KL[s(·) ‖ p(·)] + I(x; ·), with · for
    (u, β, z). So also ELBO ≤ I(y; z) − H(y) − H(x), and the larger the information on x, the
    farther the bound is from being reached.
    """
    world = random_world(seed)
    joint, model, labelled = world.joint, world.model_joint, world.labelled
    about_x = mutual_information(joint, [X], [U, B, Z])
    label_misfit = divergence(labelled, labelled.sum(axis=0) * world.p_y.T)
    input_misfit = divergence(joint, joint.sum(axis=X) * model / model.sum(axis=X))
    latent_misfit = divergence(joint.sum(axis=X), model.sum(axis=X))
    gap = label_misfit + input_misfit + latent_misfit + about_x
    assert world.bound - world.elbo == pytest.approx(gap)
    assert world.elbo <= world.bound - about_x


def test_lemma_4_1_holds_with_equality_where_latents_know_nothing():
    world = random_world(0)
    n_x = len(world.data)
    latents = random_table(np.random.default_rng(1), 3, 2, 3)  # u, β, z, whatever x
    by_beta = latents.sum(axis=2).T
    z_given = np.broadcast_to(latents / latents.sum(axis=2, keepdims=True), (n_x, 3, 2, 3))
    mute = World(
        data=world.data,
        p_beta=by_beta.sum(axis=1),
        p_u=by_beta / by_beta.sum(axis=1, keepdims=True),
        p_x=np.tile(world.data.sum(axis=1), (3, 1)),
        p_z=z_given,
        p_y=np.tile(world.data.sum(axis=0), (3, 1)),
        q_u=np.tile(by_beta.sum(axis=0), (n_x, 1)),
        q_beta=(by_beta / by_beta.sum(axis=0)).T,
        q_z=z_given,
    )
    nothing_known = -entropy(world.data, [0]) - entropy(world.data, [1])
    assert mute.bound == pytest.approx(nothing_known)
    assert mute.elbo == pytest.approx(nothing_known)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_term_of_the_proof_is_bounded_and_the_best_predictor_reaches_its_bound(seed):
    world = random_world(seed)
    about_y = mutual_information(world.labelled, [0], [1])
    about_x = mutual_information(world.joint, [X], [U, B, Z])
    assert world.label_term < about_y - entropy(world.data, [1])
    assert world.input_term < about_x - entropy(world.data, [0])
    best = replace(world, p_y=(world.labelled / world.labelled.sum(axis=0)).T)
    assert best.label_term == pytest.approx(about_y - entropy(world.data, [1]))
    # The data-processing chain of the proof: I(y; z) ≤ I(y; x) ≤ H(y).
    assert about_y < mutual_information(world.data, [0], [1]) < entropy(world.data, [1])


def test_an_encoding_that_copies_x_reaches_all_the_information_on_y():
    world = random_world(0)
    copies = np.broadcast_to(np.eye(4)[:, None, None, :], (4, 3, 2, 4))
    labelled = replace(world, q_z=copies).labelled
    about_y = mutual_information(labelled, [0], [1])
    assert about_y == pytest.approx(mutual_information(world.data, [0], [1]))


def test_the_highest_possible_elbo_does_not_ask_for_all_the_information_on_x():
    """Theorem 4.2 says that at the optimum I(x; u, β, z) is maximal. It need not be.

    x is two fair bits and y is the first. Latents that hold the first bit alone reach −H(x, y),
    which no ELBO exceeds, with z independent of the only β; yet they tell one of the two bits. So
    condition 2 of a domain index has to be measured.
    """
    first_bit = np.repeat(np.eye(2), 2, axis=0)  # x to u
    z_is_u = np.broadcast_to(np.eye(2)[None, :, None, :], (4, 2, 1, 2))
    world = World(
        data=first_bit / 4,
        p_beta=np.ones(1),
        p_u=np.full((1, 2), 0.5),
        p_x=first_bit.T / 2,
        p_z=z_is_u,
        p_y=np.eye(2),
        q_u=first_bit,
        q_beta=np.ones((2, 1)),
        q_z=z_is_u,
    )
    assert world.elbo == pytest.approx(-entropy(world.data))
    assert mutual_information(world.joint, [X], [U, B, Z]) == pytest.approx(np.log(2))
    assert entropy(world.data, [0]) == pytest.approx(np.log(4))


def domain_joint(k, beta_given_k, z_given_k):
    """s(k, β, z) for the Markov chain β ← k → z."""
    return np.einsum("k,kb,kz->kbz", k, beta_given_k, z_given_k)


def best_discriminator(joint) -> float:
    """max_D E[log D(k|z)], reached by D = s(k|z)."""
    pair = joint.sum(axis=BETA)
    return mean_log(pair, conditional(pair, 0))


def decomposition(joint) -> float:
    """The right-hand side of Lemma 4.2."""
    about_index = mutual_information(joint, [ENCODING], [BETA])
    beyond = mutual_information(joint, [ENCODING], [K], given=[BETA])
    return about_index + beyond - entropy(joint, [K])


MERGED = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=float)
"""β as a function of k: five domains, of which two pairs share their index."""


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_4_2_the_best_discriminator_decomposes_and_no_other_does_better(seed):
    rng = np.random.default_rng(seed)
    k = random_table(rng, 5)
    joint = domain_joint(k, MERGED, random_table(rng, 5, 4, given=1))
    assert best_discriminator(joint) == pytest.approx(decomposition(joint))
    assert best_discriminator(joint) > -entropy(k)
    guess = random_table(rng, 4, 5, given=1).T
    assert mean_log(joint.sum(axis=BETA), guess) < best_discriminator(joint)


def test_lemma_4_2_the_least_value_is_that_of_an_encoding_without_the_domain():
    rng = np.random.default_rng(0)
    k = random_table(rng, 5)
    joint = domain_joint(k, MERGED, np.tile(random_table(rng, 4), (5, 1)))
    assert best_discriminator(joint) == pytest.approx(-entropy(k))
    assert mutual_information(joint, [ENCODING], [BETA]) == pytest.approx(0, abs=1e-12)
    beyond = mutual_information(joint, [ENCODING], [K], given=[BETA])
    assert beyond == pytest.approx(0, abs=1e-12)


def test_hiding_the_index_alone_does_not_reach_the_least_value():
    """Two domains share β and z tells them apart: I(z; β) = 0, but I(z; k|β) = log 2."""
    joint = domain_joint(np.full(2, 0.5), np.ones((2, 1)), np.eye(2))
    assert mutual_information(joint, [ENCODING], [BETA]) == pytest.approx(0)
    assert best_discriminator(joint) == pytest.approx(np.log(2) - entropy(np.full(2, 0.5)))


@pytest.mark.parametrize("seed", SEEDS)
def test_where_z_sees_a_random_index_the_decomposition_is_too_large_by_what_it_sees(seed):
    """The lemma needs β to be a function of k, or z blind to its chance: else add I(z; β|k)."""
    rng = np.random.default_rng(seed)
    joint = np.einsum(
        "k,kb,kbz->kbz",
        random_table(rng, 4),
        random_table(rng, 4, 3, given=1),
        random_table(rng, 4, 3, 4, given=2),
    )
    seen = mutual_information(joint, [ENCODING], [BETA], given=[K])
    assert seen > 0
    assert decomposition(joint) - best_discriminator(joint) == pytest.approx(seen)


def test_with_a_random_index_z_can_hide_the_domain_and_still_show_the_index():
    """A coin β, the same in every domain, which z copies: I(z; k) = 0 and I(z; β) = log 2."""
    joint = np.einsum("k,b,bz->kbz", np.full(3, 1 / 3), np.full(2, 0.5), np.eye(2))
    assert best_discriminator(joint) == pytest.approx(-np.log(3))
    assert mutual_information(joint, [ENCODING], [BETA]) == pytest.approx(np.log(2))


def index_and_encoding(world, of_x):
    """s(k, β, z), for x of which `of_x` (x, k) says the domain."""
    return np.einsum("xk,xubz->kbz", of_x, world.joint)


def objective(world, of_x, weight=1.0) -> float:
    """The paper's equation 20 with the best discriminator."""
    return world.elbo - weight * best_discriminator(index_and_encoding(world, of_x))


def right_side(world, of_x, weight=1.0) -> float:
    """That of Theorem 4.1."""
    return world.bound - weight * decomposition(index_and_encoding(world, of_x))


def best_model(world) -> World:
    """The same inference with the p that has the highest ELBO."""
    of_u_and_x = world.joint.sum(axis=(B, Z)).T
    of_beta_and_u = world.joint.sum(axis=(X, Z)).T
    return replace(
        world,
        p_beta=of_beta_and_u.sum(axis=1),
        p_u=conditional(of_beta_and_u, 1),
        p_x=conditional(of_u_and_x, 1),
        p_z=world.q_z,
        p_y=conditional(world.labelled.T, 1),
    )


def world_with_domains(seed) -> tuple[World, np.ndarray]:
    """Six x in three domains, of which two share their β; u says β, and nothing else is settled."""
    rng = np.random.default_rng(seed)
    of_x = np.repeat(np.eye(3), 2, axis=0)
    beta_of_u = np.repeat(np.eye(2), 2, axis=0)
    allowed = of_x @ MERGED[:3, :2] @ beta_of_u.T
    sizes = 6, 4, 2, 3
    world = World(
        data=random_table(rng, 6, 3),
        p_beta=random_table(rng, 2),
        p_u=random_table(rng, 2, 4, given=1),
        p_x=random_table(rng, 4, 6, given=1),
        p_z=random_table(rng, *sizes, given=3),
        p_y=random_table(rng, 3, 3, given=1),
        q_u=conditional(allowed * random_table(rng, 6, 4, given=1), 1),
        q_beta=beta_of_u,
        q_z=random_table(rng, *sizes, given=3),
    )
    return world, of_x


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_4_1_the_objective_is_below_the_information_less_what_z_says_of_the_domain(
    seed, weight
):
    world, of_x = world_with_domains(seed)
    assert objective(world, of_x, weight) < right_side(world, of_x, weight)
    assert objective(best_model(world), of_x, weight) < right_side(world, of_x, weight)


def test_theorem_4_1_fails_where_the_index_is_a_chance_that_z_sees():
    """β is drawn, not a function of the domain, and z copies it: Lemma 4.2 does not apply.

    The paper draws β from N(μ, σ²) and proves the lemma for σ = 0.
    """
    of_x = np.eye(2)
    z_is_beta = np.broadcast_to(np.eye(2), (2, 1, 2, 2))
    world = World(
        data=np.full((2, 2), 0.25),
        p_beta=np.full(2, 0.5),
        p_u=np.ones((2, 1)),
        p_x=np.full((1, 2), 0.5),
        p_z=z_is_beta,
        p_y=np.full((2, 2), 0.5),
        q_u=np.ones((2, 1)),
        q_beta=np.full((1, 2), 0.5),
        q_z=z_is_beta,
    )
    above = objective(world, of_x) - right_side(world, of_x)
    assert above == pytest.approx(np.log(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_with_the_best_model_the_objective_sees_z_alone(seed):
    """Then it is I(y; z) − λ I(z; k) and a constant: u and β do not count, but through z.

    So maximising it, as training does, does not maximise I(x; u, β, z).
    """
    world, of_x = world_with_domains(seed)
    best = best_model(world)
    assert best.elbo > world.elbo
    about_y = mutual_information(world.labelled, [0], [1])
    about_k = mutual_information(index_and_encoding(world, of_x), [ENCODING], [K])
    constant = (
        -entropy(world.data, [0])
        - entropy(world.data, [1])
        + 3.0 * entropy(index_and_encoding(world, of_x), [K])
    )
    assert objective(best, of_x, 3.0) == pytest.approx(about_y - 3.0 * about_k + constant)


def groupings(n_values):
    """Every function of `n_values` values, but for the names of what it returns."""
    for names in product(range(n_values), repeat=n_values):
        if all(name <= max(names[:place], default=-1) + 1 for place, name in enumerate(names)):
            yield np.eye(n_values)[list(names)]


@dataclass(frozen=True)
class Encoder:
    """What the two theorems say of one choice of u, β and z."""

    objective: float
    right_side: float
    about_index: float  # I(z; β)
    beyond: float  # I(z; k|β)
    about_x: float  # I(x; u, β, z)
    about_y: float  # I(y; z)

    @classmethod
    def of(cls, data, of_x, local, index, encoding, weight) -> "Encoder":
        """Of u = local(x), β = index(u) and z = encoding(x), with the best model."""
        n_x = len(data)
        z_given = np.broadcast_to(encoding[:, None, None, :], (n_x, n_x, index.shape[1], n_x))
        empty = np.zeros(1)
        world = best_model(World(data, empty, empty, empty, z_given, empty, local, index, z_given))
        joint = index_and_encoding(world, of_x)
        return cls(
            objective(world, of_x, weight),
            right_side(world, of_x, weight),
            mutual_information(joint, [ENCODING], [BETA]),
            mutual_information(joint, [ENCODING], [K], given=[BETA]),
            mutual_information(world.joint, [X], [U, B, Z]),
            mutual_information(world.labelled, [0], [1]),
        )


TWO_DOMAINS = np.repeat(np.eye(2), 2, axis=0)
"""The domain of x; x is a pair of domain and y."""


def every_encoder(data, weight) -> list[Encoder]:
    """All deterministic u, β and z of four x in two domains; β is the same, or the domain."""
    found = []
    for local, encoding in product(groupings(4), groupings(4)):
        indices = [np.ones((4, 1))]
        of_u = conditional(local.T @ TWO_DOMAINS, 1)
        if set(np.unique(of_u)) <= {0.0, 1.0}:  # u says the domain
            indices.append(np.where(of_u.sum(axis=1, keepdims=True) > 0, of_u, np.eye(2)[0]))
        found += [
            Encoder.of(data, TWO_DOMAINS, local, index, encoding, weight) for index in indices
        ]
    return found


def is_best(encoders, figure) -> list[bool]:
    values = np.array([getattr(one, figure) for one in encoders])
    return (values > values.max() - 1e-9).tolist()


def hides_the_domain(one) -> bool:
    return one.about_index + one.beyond < 1e-9


EQUAL_SHARES = np.tile(np.eye(2), (2, 1)) / 4
"""p(x, y): y is as frequent in one domain as in the other, so z = y can hide the domain."""


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_theorem_4_2_the_right_side_is_largest_exactly_where_all_three_conditions_hold(weight):
    """Over all encoders of a world that has one which satisfies the three, whatever λ > 0."""
    encoders = every_encoder(EQUAL_SHARES, weight)
    best = is_best(encoders, "right_side")
    three = [
        hides_the_domain(one) and tells_x and tells_y
        for one, tells_x, tells_y in zip(
            encoders, is_best(encoders, "about_x"), is_best(encoders, "about_y")
        )
    ]
    assert best == three
    assert any(best)
    assert not all(best)


@pytest.mark.parametrize("weight", [0.1, 1.0, 10.0])
def test_theorem_4_2_the_objective_is_largest_exactly_where_the_first_and_the_third_hold(weight):
    encoders = every_encoder(EQUAL_SHARES, weight)
    best = is_best(encoders, "objective")
    first_and_third = [
        hides_the_domain(one) and tells_y
        for one, tells_y in zip(encoders, is_best(encoders, "about_y"))
    ]
    assert best == first_and_third
    about_x = [one.about_x for one, chosen in zip(encoders, best) if chosen]
    assert max(about_x) == pytest.approx(np.log(4))  # all of x: the second may hold
    assert min(about_x) == pytest.approx(np.log(2))  # and need not


def test_three_conditions_as_the_definition_has_them_do_not_make_an_optimum():
    """One β for all and z = x satisfy Definition 3.1; z says the domain, and D finds it there."""
    one_u = np.eye(4)[[0, 0, 0, 0]]
    trivial = Encoder.of(EQUAL_SHARES, TWO_DOMAINS, one_u, np.ones((4, 1)), np.eye(4), 1.0)
    assert trivial.about_index == pytest.approx(0)
    assert trivial.about_x == pytest.approx(np.log(4))
    assert trivial.about_y == pytest.approx(np.log(2))
    best = max(one.objective for one in every_encoder(EQUAL_SHARES, 1.0))
    assert best - trivial.objective == pytest.approx(np.log(2))


UNEQUAL_SHARES = np.array([[0.25, 0.0], [0.0, 0.25], [0.125, 0.0], [0.0, 0.375]])
"""p(x, y): y is 1 in half of one domain and in three quarters of the other."""


def test_where_classes_are_not_as_frequent_everywhere_the_optimum_keeps_one_of_two_conditions():
    """What says y says something of the domain. A small λ leaves it in z, a large one takes y out.

    Then I(y; z) is maximal only among those z that satisfy the first condition, as Definition 3.1
    has it ("conditioned on"), and not, as the theorem reads, of all.
    """
    light, heavy = every_encoder(UNEQUAL_SHARES, 1.0), every_encoder(UNEQUAL_SHARES, 100.0)
    most = max(one.about_y for one in light)
    at_light = [one for one, best in zip(light, is_best(light, "objective")) if best]
    assert all(one.about_y == pytest.approx(most) for one in at_light)
    assert not any(map(hides_the_domain, at_light))
    at_heavy = [one for one, best in zip(heavy, is_best(heavy, "objective")) if best]
    assert all(map(hides_the_domain, at_heavy))
    assert all(one.about_y == pytest.approx(0) for one in at_heavy)
    assert max(one.about_y for one in heavy if hides_the_domain(one)) == pytest.approx(0)


def binary_objective(data, ones, weight) -> tuple[float, float]:
    """I(y; z) − λ I(z; k), and I(z; k), for a z that is 1 with probability `ones` (x,)."""
    encoding = np.column_stack([1 - ones, ones])
    about_k = mutual_information(
        np.einsum("x,xk,xz->kz", data.sum(axis=1), TWO_DOMAINS, encoding), [0], [1]
    )
    about_y = mutual_information(np.einsum("xy,xz->yz", data, encoding), [0], [1])
    return about_y - weight * about_k, about_k


def hidden_corners(data):
    """The corners of all binary z that are as frequent in one domain as in the other.

    I(y; z) is convex in q(z|x), so the best of these z is among the corners: all but one x have
    probability 0 or 1.
    """
    by_domain = data.sum(axis=1) * (TWO_DOMAINS[:, 0] - TWO_DOMAINS[:, 1])
    for free, others in product(range(4), product([0.0, 1.0], repeat=3)):
        ones = np.insert(np.array(others), free, 0.0)
        ones[free] = -(by_domain @ ones) / by_domain[free]
        if 0 <= ones[free] <= 1:
            yield ones


@pytest.mark.parametrize("weight", [1.0, 100.0, 10_000.0])
def test_where_classes_are_not_as_frequent_no_weight_hides_the_domain_from_a_random_z(weight):
    """A step ε away from the best hidden z gains I(y; z) in proportion to ε, and costs λ ε².

    So at no finite λ does the optimum satisfy the first condition. It comes near: there I(z; k) is
    at most H(y) / λ, or else a z that says nothing would be better.
    """
    corners = list(hidden_corners(UNEQUAL_SHARES))
    values = [binary_objective(UNEQUAL_SHARES, ones, weight)[0] for ones in corners]
    best = corners[int(np.argmax(values))]
    assert max(values) > 0.1  # some of y can be said without the domain
    assert binary_objective(UNEQUAL_SHARES, best, weight)[1] == pytest.approx(0, abs=1e-12)
    y_of_x = UNEQUAL_SHARES[:, 1] / UNEQUAL_SHARES.sum(axis=1)
    towards_y = y_of_x if best @ y_of_x > best @ (1 - y_of_x) else 1 - y_of_x
    step = 0.1 / weight
    stepped, leak = binary_objective(UNEQUAL_SHARES, best + step * (towards_y - best), weight)
    assert stepped > max(values)
    assert 0 < leak < entropy(UNEQUAL_SHARES, [1]) / weight
