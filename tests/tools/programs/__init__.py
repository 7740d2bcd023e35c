"""The zoo's programs, a file for each family."""
