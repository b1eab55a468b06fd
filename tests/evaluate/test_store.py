"""The file of runs: what is written is there, whatever happens to those who write it."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import seriatim
from seriatim.errors import DataError
from seriatim.evaluate.comparison.store import RunStore

ROOT = str(Path(seriatim.__file__).parents[1])


def run(number: int, **more: object) -> dict:
    return {
        "key": f"{number:032x}", "data": "d", "algorithm": "pa", "parameters": {"C": 1.0}, "label": "pa",
        "order": number, "seed": 0, "version": "0.1.0", "examples": 9, "updates": 4, "seconds": 0.5, "mistakes": 3,
        "mistake_rate": 1 / 3, "mean_loss": None, "curve": {"examples": [1, 9], "value": [1.0, 1 / 3]},
        **more,
    }  # fmt: skip


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "runs.jsonl"


def test_what_is_written_is_read(path):
    assert RunStore(path).read() == {}
    RunStore(path).append(run(1), run(2))
    RunStore(path).append(run(3, confusion=[[1, 2], [3, 4]]))
    found = RunStore(path).read()
    assert list(found.values()) == [run(1), run(2), run(3, confusion=[[1, 2], [3, 4]])]
    assert [json.loads(line)["order"] for line in path.read_text().splitlines()] == [1, 2, 3]


def test_a_run_that_is_there_twice_is_the_last(path):
    RunStore(path).append(run(1), run(1, updates=5))
    assert [one["updates"] for one in RunStore(path).read().values()] == [5]


def test_infinity_is_nothing(path):
    RunStore(path).append(run(1, mean_loss=float("inf")))
    assert next(iter(RunStore(path).read().values()))["mean_loss"] is None


@pytest.mark.parametrize("cut", [1, 5, 20, 200])
def test_a_torn_line_is_passed_over_then_cut_off(path, cut):
    RunStore(path).append(run(1), run(2))
    text = path.read_bytes()
    path.write_bytes(text[:-cut])
    assert [one["order"] for one in RunStore(path).read().values()] == [1]
    assert path.read_bytes() == text[:-cut]
    RunStore(path).append(run(3))
    assert [one["order"] for one in RunStore(path).read().values()] == [1, 3]
    assert path.read_bytes().startswith(text.splitlines(keepends=True)[0])


@pytest.mark.parametrize(
    "line",
    [
        "", "hello", "{}", "[1, 2]", "null", '{"key": "a"}', "\ufeff{}",
        json.dumps({**run(2), "examples": "many"}), json.dumps({**run(2), "curve": [1]}),
        json.dumps({k: v for k, v in run(2).items() if k != "seconds"}), "\x00", "{" * 10_000, "[" * 10_000,
    ],
)  # fmt: skip
def test_a_foreign_line_is_named_and_nothing_changes(path, line):
    RunStore(path).append(run(1))
    text = path.read_bytes() + line.encode() + b"\n"
    path.write_bytes(text)
    with pytest.raises(DataError, match=r"runs\.jsonl: line 2: not a run of a comparison"):
        RunStore(path).read()
    assert path.read_bytes() == text


def test_bytes_that_are_no_text(path):
    path.write_bytes(b'{"key":"\xff\xfe"}\n')
    with pytest.raises(DataError, match="line 1: not a run"):
        RunStore(path).read()


def test_the_end_of_a_foreign_file_is_not_cut_off(path):
    path.write_bytes(b"my notes")
    for act in (RunStore(path).read, lambda: RunStore(path).append(run(1))):
        with pytest.raises(DataError, match="line 1: not a run"):
            act()
    assert path.read_bytes() == b"my notes"


def test_no_place_to_write(tmp_path):
    with pytest.raises(DataError, match="no/runs"):
        RunStore(tmp_path / "no" / "runs.jsonl").append(run(1))
    with pytest.raises(DataError, match="directory"):
        RunStore(tmp_path).read()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_is_said(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        RunStore(tmp_path / "full").append(run(1))


def test_threads_take_turns(path):
    store = RunStore(path)

    def write(first: int) -> None:
        for number in range(first, first + 50):
            store.append(run(number))

    threads = [threading.Thread(target=write, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(RunStore(path).read()) == 200


WRITER = f"""
import sys; sys.path.insert(0, {ROOT!r})
from seriatim.evaluate.comparison.store import RunStore
store, first, run = RunStore(sys.argv[1]), int(sys.argv[2]), {run(0)!r}
print("ready", flush=True)
for number in range(first, first + int(sys.argv[3])):
    store.append({{**run, "key": f"{{number:032x}}", "order": number, "padding": "x" * 20_000}})
"""


def writer(path: Path, first: int, runs: int) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(first), str(runs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_two_processes_append_at_once(path):
    processes = [writer(path, 1000 * k, 200) for k in range(2)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(RunStore(path).read()) == 400


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_killed_at_any_moment(path, number):
    """One writer is killed again and again while another goes on; no line is lost that was whole, and none is torn."""
    rng = random.Random(0)
    other = writer(path, 0, 300)
    for k in range(1, 6):
        process = writer(path, 1_000_000 * k, 1_000_000)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(process.pid, number)
        process.communicate(timeout=60)
        own = [one["order"] for one in RunStore(path).read().values() if one["order"] // 1_000_000 == k]
        assert own == [*range(1_000_000 * k, 1_000_000 * k + len(own))]
    other.communicate(timeout=60)
    assert other.returncode == 0
    RunStore(path).append(run(999))
    orders = [one["order"] for one in RunStore(path).read().values()]
    assert {*range(300), 999} <= {*orders}
    assert path.read_bytes().endswith(b"\n")
