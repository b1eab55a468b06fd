"""Regret against the best fixed model, and the bounds that the papers prove."""
