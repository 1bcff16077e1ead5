"""Every choice that is made without target labels, and the members that come of it."""
