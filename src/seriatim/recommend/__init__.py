"""Recommendation: factors of users and items, learned from a stream of ratings."""
