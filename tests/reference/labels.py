"""Labels as texts of any format have them, by float(): slow, plain, and sharing nothing with the parsers."""

PLAIN = {*"0123456789+-.eE"}


def label_of(text: str) -> float | str:
    """The number that a text is, were there blanks around it; with digits behind a zero, as in 007, a name."""
    word = text.strip(" \t")
    digits = word[1:] if word[:1] in ("+", "-") else word
    if not {*word} <= PLAIN or (digits[:1] == "0" and digits[1:2].isdigit()):
        return text
    try:
        number = float(word)
    except ValueError:
        return text
    return text if abs(number) == float("inf") else number
