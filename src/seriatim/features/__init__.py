"""Featurising: what becomes of tables, texts, dicts and frames."""

from seriatim.features.spec import Features

__all__ = ["Features"]
