"""Topics of real texts: LDA beside scikit-learn's and gensim's, HDP beside gensim's; times, and held-out perplexity."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.data import real
from bench.measure import Bench, BenchError, Line, Worker, best, run, take_turns

REUTERS = "reuters-lda/reuters.ldac"
NEWS = "20newsgroups/20news-bydate-{}.jsonl.gz"
WORD = re.compile(r"[a-z]{3,}")
RARE, COMMON = 10, 0.5  # words in fewer documents, or in more than this share of them, are left out
HELD_OUT = 1000  # documents of the newsgroups
PEERS = {"scikit-learn": ("sklearn-lda", 1 / 3), "gensim": ("gensim-lda", 1 / 2)}

Bag = dict[int, float]


# The texts, topics, passes, documents of a batch, and seeds of which the mean perplexity is taken. Where a model begins
# moves the perplexity of the few documents of Reuters by several percent.
LDA = (("Reuters", 20, 20, 79, 5), ("20-newsgroups", 20, 1, 128, 2), ("20-newsgroups", 100, 1, 128, 1))
HDP = (("Reuters", 150, 10, 79, 2), ("20-newsgroups, 2,000 messages", 150, 1, 64, 1))


def compare(bench: Bench) -> Iterator[Line]:
    """Equal settings: first topics, batches, rounds, tolerance, rates, priors, passes. One core each."""
    for path in map(real, (REUTERS, NEWS.format("train"), NEWS.format("test"))):
        if not path.exists():
            raise BenchError(f"no texts at {path}; --data or SERIATIM_DATA names the folder of the larger data sets")
    paths = prepared(bench)
    for name, topics, passes, batch, seeds in LDA:
        bench.say("the first topics")
        run(bench.python, "-m", "bench.workers.topics", "first", paths[name], str(topics), str(seeds))
        yield from beside(bench, f"LDA, {topics} topics of {name}", paths[name], topics, passes, batch, seeds)
    for name, topics, passes, batch, seeds in HDP:
        yield from hdp(bench, f"HDP of {name}", paths[name], topics, passes, batch, seeds)


def prepared(bench: Bench) -> dict[str, Path]:
    """The files of counts, by what they are called."""
    folder = bench.files.folder
    paths = {"Reuters": folder / "reuters.npz", "20-newsgroups": folder / "newsgroups.npz"}
    paths["20-newsgroups, 2,000 messages"] = folder / "newsgroups-2000.npz"
    if not paths["Reuters"].exists():
        bench.say("counting the words of Reuters")
        pairs = [[pair.split(":") for pair in line.split()[1:]] for line in real(REUTERS).read_text().splitlines()]
        bags = [{int(w): float(n) for w, n in pairs[d]} for d in np.random.default_rng(0).permutation(len(pairs))]
        save(paths["Reuters"], bags[:316], bags[316:])
    if not all(path.exists() for path in paths.values()):
        bench.say("counting the words of the newsgroups")
        train, test = newsgroups()
        save(paths["20-newsgroups"], train, test)
        save(paths["20-newsgroups, 2,000 messages"], train[:2000], test[:300])
    return paths


def save(path: Path, train: list[Bag], test: list[Bag]) -> None:
    words = 1 + max(max(bag, default=0) for bag in (*train, *test))
    arrays: dict[str, np.ndarray] = {"words": np.array(words)}
    for part, bags in (("train", train), ("test", test)):
        arrays[f"{part}_start"] = np.cumsum([0, *map(len, bags)])
        arrays[f"{part}_index"] = np.array([w for bag in bags for w in sorted(bag)], dtype=np.int32)
        arrays[f"{part}_value"] = np.array([bag[w] for bag in bags for w in sorted(bag)])
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


def newsgroups() -> tuple[list[Bag], list[Bag]]:
    """Train and test messages as counts, in a random order; the words are those of the training messages."""

    def counted(part: str) -> Iterable[Counter[str]]:
        with gzip.open(real(NEWS.format(part)), "rt") as file:
            return [Counter(WORD.findall(json.loads(line)["text"].lower())) for line in file]

    parts = [[*counted(part)] for part in ("train", "test")]
    documents = Counter(word for bag in parts[0] for word in bag)
    kept = sorted(word for word, n in documents.items() if RARE <= n <= COMMON * len(parts[0]))
    number = {word: w for w, word in enumerate(kept)}
    rng = np.random.default_rng(0)
    train, test = (
        [{number[word]: float(n) for word, n in part[d].items() if word in number} for d in rng.permutation(len(part))]
        for part in parts
    )
    return train, [bag for bag in test if bag][:HELD_OUT]


def beside(bench: Bench, what: str, path: Path, topics: int, passes: int, batch: int, seeds: int) -> Iterator[Line]:
    task = (path, topics, passes, batch, seeds)
    with ExitStack() as stack:
        sides = {"seriatim": stack.enter_context(Worker(bench.python, "topics", "lda", *task))}
        for peer, (name, _) in PEERS.items():
            sides[peer] = stack.enter_context(Worker(bench.peers, "topics", name, *task))
        answers = best(take_turns(bench, sides, min(bench.repeat, 3)))
    yield from lines(what, answers, {peer: target for peer, (_, target) in PEERS.items()}, passes)


def hdp(bench: Bench, what: str, path: Path, topics: int, passes: int, batch: int, seeds: int) -> Iterator[Line]:
    task = (path, topics, passes, batch, seeds)
    with (
        Worker(bench.python, "topics", "hdp", *task) as ours,
        Worker(bench.peers, "topics", "gensim-hdp", *task) as theirs,
    ):
        answers = best(take_turns(bench, {"seriatim": ours, "gensim": theirs}, 1))
    yield from lines(what, answers, {"gensim": None}, passes)


def lines(
    what: str, answers: dict[str, dict[str, float]], peers: dict[str, float | None], passes: int
) -> Iterator[Line]:
    ours = answers["seriatim"]
    times = f"{ours['documents']:,} documents" + (f", {passes} passes" if passes > 1 else "")
    for peer, target in peers.items():
        theirs = answers[peer]
        yield Line(f"{what}, {times}", peer, ours["seconds"], theirs["seconds"], "s", target)
        yield Line(f"{what}, held-out perplexity", peer, ours["perplexity"], theirs["perplexity"], "", 1.02)
