"""Run a command with a time limit; report wall time, CPU time, peak memory and exit status as the last line of output.

It is a process of its own, and a small one: the peak memory of a child counts that of the process that started it.
"""

import os
import signal
import sys
import time


def main(limit: str, *command: str) -> None:
    """Measure one command, from before it is started until it has ended."""
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(int(limit))
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"\n{seconds} {usage.ru_utime + usage.ru_stime} {peak} {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
