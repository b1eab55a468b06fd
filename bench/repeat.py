"""Write a file to standard output over and over: `repeat FILE TIMES`."""

import sys
from pathlib import Path


def main(path: str, times: str) -> None:
    block = Path(path).read_bytes()
    for _ in range(int(times)):
        sys.stdout.buffer.write(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
