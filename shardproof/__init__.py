"""Proves that a partitioned JAX or XLA program computes what the single-device program computes."""

__version__ = "0.1.0"
