"""Writes examples and tables, for `seriatim convert`."""
