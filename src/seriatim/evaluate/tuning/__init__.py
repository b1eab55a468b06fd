"""Tuning: the best parameters of a model on the beginning of a stream."""
