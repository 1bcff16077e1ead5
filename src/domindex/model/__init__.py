"""The probabilistic model: latent variables, the bound term by term, and its adversary."""
