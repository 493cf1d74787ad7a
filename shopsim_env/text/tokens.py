"""The tokens of search: `han-bigram-latin-number-v1`.

One rule for documents and queries, so that equal text always meets. No dictionary and no local service:
the same text gives the same tokens on every machine.
"""

import re

from shopsim_env.text.normalize import fold_currency

_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_LATIN = re.compile(r"[a-z0-9]+(?:[._+\-/][a-z0-9]+)*")


def tokenize(text: str) -> list[str]:
    """Distinct tokens of `text` in order of first occurrence; `[]` when nothing is left.

    The text is normalised first. Han tokens come before the others: all overlapping pairs of a run, a run of
    one as it is. Then runs of ASCII letters and digits, held together by single inner `. _ + - /`. Everything
    else is dropped. `"WH-1000XM5 头戴耳机"` gives `["头戴", "戴耳", "耳机", "wh-1000xm5"]`.
    """
    # What `normalize_query` does beyond this, to punctuation and blanks, changes no token: both part tokens.
    normalized = fold_currency(text)
    tokens: dict[str, None] = {}
    for run in _HAN_RUN.findall(normalized):
        if len(run) < 3:
            tokens[run] = None
            continue
        # The pairs of `han_bigrams`, without a list of them: this is the hot loop of building an index.
        first = run[0]
        for second in run[1:]:
            tokens[first + second] = None
            first = second
    for word in _LATIN.findall(normalized):
        tokens[word] = None
    return list(tokens)


def han_bigrams(run: str) -> list[str]:
    """Overlapping pairs of a run of characters; the run itself when it has one character."""
    return list(map(str.__add__, run, run[1:])) or [run]


def han_runs(text: str) -> list[str]:
    """Maximal runs of Han characters of `text`, in order."""
    return _HAN_RUN.findall(text)
