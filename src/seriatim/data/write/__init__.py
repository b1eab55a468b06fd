"""Writes examples and tables: the work of `seriatim convert`."""
