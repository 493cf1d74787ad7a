"""How foreign text becomes one harmless line: catalogue text, model text, everything that is shown.

Belongs here: whitespace and control characters, lone surrogates, shortening of echoed input. Does not belong
here: what is shown (`observation`) and how the page is laid out (`render`).
"""

import re

# Line and paragraph separators, C0/C1 controls, bidirectional overrides and isolates, lone surrogates: each
# could forge a line, a terminal sequence or a reading order, or stop the text from being encoded.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ECHO_LENGTH = 200


def one_line(text: str) -> str:
    """`text` on one line: unsafe characters become blanks, runs of blanks one blank, ends trimmed."""
    # A printable text has neither unsafe characters nor blanks other than U+0020; most texts end here.
    if text.isprintable() and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    return " ".join(_UNSAFE.sub(" ", text).split())


def well_formed(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced, so that UTF-8 can hold it.

    The JSON of a model may carry half of a pair; such text must not break the search or a trace.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def echo(text: str) -> str:
    """`text` as quoted in feedback: one line, at most 200 characters, cut with `…`."""
    line = one_line(text[: 4 * _ECHO_LENGTH])
    return line if len(line) <= _ECHO_LENGTH else line[:_ECHO_LENGTH] + "…"
