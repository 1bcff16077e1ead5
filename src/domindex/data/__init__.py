"""Multi-domain data: one gate for user input, one immutable value behind it."""

from domindex.data.domain_data import DomainData
from domindex.data.inputs import check_inputs
from domindex.data.names import check_domain_names, group_rows, order_names
from domindex.data.validation import check_domain_data

__all__ = [
    "DomainData",
    "check_domain_data",
    "check_domain_names",
    "check_inputs",
    "group_rows",
    "order_names",
]
