"""Tools the tests and benchmarks share: mutation operators, a program checker, and a zoo of sharded JAX programs."""
