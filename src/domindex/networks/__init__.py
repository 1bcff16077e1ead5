"""Networks: any leading shape in, distributions or scores out, no state between calls."""
