"""What is kept on disk: complete or not at all, readable, and opened without running code."""
