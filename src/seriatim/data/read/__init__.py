"""Reads examples from files of every format."""
