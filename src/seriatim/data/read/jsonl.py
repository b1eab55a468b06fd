"""JSON lines, with one object per line, and plain text, with one document per line. `Encoder` reads the objects."""

from __future__ import annotations

from mmap import mmap
from typing import Any

from seriatim.core.rows import LIMIT
from seriatim.core.values import encoded
from seriatim.data.read.header import LABELS
from seriatim.errors import DataError, LimitError
from seriatim.features.block import Block
from seriatim.features.encoder import Encoder, Plan
from seriatim.labels import label_of

DESCRIBED = 10  # bad lines of a block that are described in full
TEXT = "text"  # the column of plain text


def parse(
    buffer: mmap, begin: int, end: int, plan: Plan, label: str | None, skip_bad: bool = False, labelled: bool = True
) -> Block:
    """Parse bytes begin..end of a buffer, which are whole lines.

    Stops at the first bad line, or skips bad lines. If `labelled` is False, missing labels become NaN.
    """
    import msgspec

    decode = msgspec.json.Decoder().decode
    encoder = Encoder(plan, end - begin)
    y: list[Any] = []
    bad: list[tuple[int, int, str]] = []
    lines = bad_count = 0
    for text in bytes(memoryview(buffer)[begin:end]).removesuffix(b"\n").split(b"\n") if end > begin else ():
        lines += 1
        if not text.strip():
            continue
        try:
            one = decode(text)
            if not isinstance(one, dict):
                raise DataError(f"expected an object, found {shortened(text)}")
            target = target_of(None if label is None else popped(one, label), label, labelled, one)
            encoder.take(one)
            y.append(target)
        except msgspec.MsgspecError as error:
            problem, column = json_problem(str(error), text)
        except UnicodeDecodeError:  # its position is that within a string, not that in the line
            problem, column = utf8_problem(text)
        except RecursionError:
            problem, column = "expected an object, found too many nested objects or lists", 1
        except (DataError, LimitError) as error:
            problem, column = str(error), 1
        else:
            continue
        bad_count += 1
        if len(bad) < DESCRIBED:
            bad.append((lines, column, problem))
        if not skip_bad:
            break
    return encoder.finish(y, lines, bad, bad_count)


def parse_text(buffer: mmap, begin: int, end: int, plan: Plan, skip_bad: bool = False) -> Block:
    """Parse lines of plain text. Blank lines are ignored."""
    encoder = Encoder(plan, end - begin)
    bad: list[tuple[int, int, str]] = []
    lines = rows = bad_count = 0
    for text in bytes(memoryview(buffer)[begin:end]).removesuffix(b"\n").split(b"\n") if end > begin else ():
        lines += 1
        if not text.strip():
            continue
        try:
            encoder.take({TEXT: text.decode()})
            rows += 1
        except UnicodeDecodeError:
            bad_count += 1
            if len(bad) < DESCRIBED:
                bad.append((lines, utf8_problem(text)[1], utf8_problem(text)[0]))
            if not skip_bad:
                break
    return encoder.finish([float("nan")] * rows, lines, bad, bad_count)


def label_key(head: bytes) -> str | None:
    """The key of the label, if the user names none: from the first object that has one of the usual keys."""
    import msgspec

    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            one = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the parser will raise the error
            continue
        for usual in LABELS:
            if isinstance(one, dict) and usual in one:
                return usual
    return None


def popped(one: dict[str, Any], name: str) -> Any:
    """Remove a name from an object and return its value. "user.age" is a name within a nested object."""
    if name in one:
        return one.pop(name)
    for i, letter in enumerate(name):
        if letter == "." and isinstance(one.get(name[:i]), dict):
            return popped(one[name[:i]], name[i + 1 :])
    return None


def target_of(value: Any, name: str | None, labelled: bool, one: dict[str, Any]) -> float | str:
    """Convert a label: a number, true or false, or a name."""
    if isinstance(value, str) and value.strip(" \t"):
        encoded(value, "the label")  # refuses lone surrogates, which come from escapes
        value = label_of(value)
        if isinstance(value, str):
            return value
    if isinstance(value, int | float) and -LIMIT <= value <= LIMIT:
        return float(value)
    if value is None and not labelled:
        return float("nan")
    if value is None and name is None:
        keys = ", ".join(map(repr, list(one)[:20]))
        raise DataError(f"which key is the label? Say so by --label (features=Features(label=...)); there are {keys}")
    found = "none" if value is None else repr(value)[:40]
    raise DataError(f"expected a label under {name!r}, a number or a string, found {found}")


def json_problem(message: str, text: bytes) -> tuple[str, int]:
    """The problem of a line that is not JSON, and its column."""
    what, _, place = message.partition(" (byte ")
    column = int(place.rstrip(")")) + ("trailing characters" not in what) if place else len(text) + 1
    return f"expected a JSON object: {what}", column


def utf8_problem(text: bytes) -> tuple[str, int]:
    """The byte of a line that is not UTF-8, and its column."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"expected UTF-8 text, found the byte 0x{text[error.start]:02x}", error.start + 1
    return "expected UTF-8 text", 1


def shortened(text: bytes) -> str:
    found = text.decode(errors="replace").strip()
    return repr(found if len(found) <= 40 else found[:40] + "...")
