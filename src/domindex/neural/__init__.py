"""Tools of torch that every network here uses: layers, backbones, batches and the training loop."""
