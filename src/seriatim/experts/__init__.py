"""Prediction with expert advice: weights over experts, whose losses are told, who give advice, or who are learners."""
