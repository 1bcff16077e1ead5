"""What is kept on disk: complete or not at all, and read back without running any code."""
