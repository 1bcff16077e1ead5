"""Data that only suites need: real tables, drawn cars, digits and signals that move."""
