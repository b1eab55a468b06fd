"""Vowpal Wabbit text, read from its description on the project's wiki, and the hash of its names."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.reference.labels import label_of

MASK = 0xFFFFFFFF
Row = tuple[float | str, dict[str, float]]


def read_line(line: str) -> Row:
    """(label, features by name) of a line; a feature that is there twice has the sum."""
    before, *spaces = line.split("|")
    label = before.split()[0]
    features: dict[str, float] = defaultdict(float)
    for space in spaces:
        named = space[:1] not in ("", " ", "\t")
        words = space.split()
        name, _, weight = words.pop(0).partition(":") if named else ("", "", "")
        for word in words:
            feature, _, value = word.partition(":")
            features[f"{name}^{feature}" if name else feature] += float(value or 1) * float(weight or 1)
    return label_of(label), dict(features)


def read_weight(line: str) -> float:
    """The importance of a line: the second word before the bar, unless it is a tag."""
    before = line.partition("|")[0]
    words = before.split() if before[-1:] in (" ", "\t") else before.split()[:-1]  # a tag may be next to the bar
    words = [word for word in words if not word.startswith("'")]
    return float(words[1]) if len(words) > 1 else 1.0


def column(name: str, bits: int) -> int:
    """The column of namespace^feature, or of a feature without namespace, in a table of 2^bits."""
    space, _, feature = name.rpartition("^")
    return hashed(feature, hashed(space, 0) if space else 0) & ((1 << bits) - 1)


def hashed(name: str, seed: int) -> int:
    """A whole number stands for itself, any other name for its hash."""
    return int(name) + seed if re.fullmatch("[0-9]+", name) else murmur3(name.encode(), seed)


def murmur3(key: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 as its author wrote it down."""

    def mixed(k: int) -> int:
        k = k * 0xCC9E2D51 & MASK
        return ((k << 15 | k >> 17) & MASK) * 0x1B873593 & MASK

    h = seed & MASK
    whole = len(key) // 4 * 4
    for i in range(0, whole, 4):
        h ^= mixed(int.from_bytes(key[i : i + 4], "little"))
        h = ((h << 13 | h >> 19) & MASK) * 5 + 0xE6546B64 & MASK
    h ^= mixed(int.from_bytes(key[whole:], "little")) ^ len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor & MASK
    return h
