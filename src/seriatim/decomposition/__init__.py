"""Singular vectors, principal components and dictionaries of a stream of rows."""
