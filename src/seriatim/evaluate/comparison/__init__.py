"""Comparisons: many algorithms over permutations of one data set."""
