"""The paper's model: networks, bound, adversary and objective."""
