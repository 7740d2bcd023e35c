"""The mutation operators, a file for each group of bug kinds."""
