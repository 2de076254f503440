"""Measurements that anyone can rerun; each is a ratio against a baseline in the same run."""
