"""Measurements that are no suite; `domindex-bench measure NAME` runs one."""
