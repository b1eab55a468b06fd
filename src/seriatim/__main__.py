"""`python -m seriatim` is the command `seriatim`."""

from seriatim.cli import main

if __name__ == "__main__":
    main()
