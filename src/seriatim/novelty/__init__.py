"""What is unlike all that came before."""
