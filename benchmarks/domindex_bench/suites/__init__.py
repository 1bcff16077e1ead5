"""The suites, one module each, imported when a suite is asked for."""
