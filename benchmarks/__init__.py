"""Measurements of the corpus, of mutants and of live programs; run from the root, `python -m benchmarks.corpus`."""
