"""Detection of unusual rows."""
