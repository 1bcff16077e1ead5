"""Multi-domain data: one gate for user input, one immutable value behind it."""

from domindex.inputs.domain_data import DomainData
from domindex.inputs.gate import check_domain_data
from domindex.inputs.names import check_domain_names, group_rows, order_names
from domindex.inputs.numbers import check_inputs

__all__ = [
    "DomainData",
    "check_domain_data",
    "check_domain_names",
    "check_inputs",
    "group_rows",
    "order_names",
]
