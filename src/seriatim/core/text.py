"""Text that is safe for terminals and for line-based formats."""

import json
import re

# Characters that a terminal obeys or hides: control characters, direction marks, line separators, lone surrogates.
OBEYED = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
SIGNS = {"±": "+-", "≈": "~", "µ": "u", "…": "..."}  # replacements for our own signs where a terminal lacks them


def printable(text: object) -> str:
    """A text on one line, with escapes in place of control characters.

    >>> printable("spam\\n\\x1b[31m"), printable("Ünï \\u202e")
    ('spam\\\\n\\\\x1b[31m', 'Ünï \\\\u202e')
    """
    return OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def one_line(label: object) -> str:
    """A label as one line of a file; a JSON string if it has line breaks or begins with a quote.

    >>> one_line("spam"), one_line("a\\nb"), one_line(7)
    ('spam', '"a\\\\nb"', '7')
    """
    text = str(label)
    return json.dumps(text) if text.startswith('"') or len(text.splitlines()) > 1 or text[-1:] in BREAKS else text


BREAKS = {*"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}
