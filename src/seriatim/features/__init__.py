"""From the cells of tables, texts, dicts and data frames to rows of numbers."""

from seriatim.features.spec import Features

__all__ = ["Features"]
