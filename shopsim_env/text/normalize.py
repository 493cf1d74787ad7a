"""One spelling for text that is compared: queries, documents, titles.

Belongs here: character folding and the search normaliser `nfkc-casefold-basic-punctuation-v1`. Does not
belong here: tokens (`tokens`), amounts of money (`tasks.budget`), option keys (`catalog.product`).
"""

import re
import unicodedata

# "3rmb", "3 yuan": only a whole word after a digit is the currency. Han may follow directly ("3rmb左右"), so
# the word ends at anything that is not an ASCII word character.
_CURRENCY_WORDS = ("rmb", "cny", "yuan")
_CURRENCY_WORD = re.compile(rf"(?<=\d)\s*(?:{'|'.join(_CURRENCY_WORDS)})(?![a-z0-9_])")
_PUNCTUATION = re.compile(r"[，,。；;：:！!？?、|]+")


def fold(text: str) -> str:
    """NFKC, then case folded: full-width and compatibility forms and letter case stop mattering."""
    return unicodedata.normalize("NFKC", text).casefold()


def fold_currency(text: str) -> str:
    """`text` folded; 人民币, 块钱 and a currency word after a digit become 元."""
    folded = fold(text).replace("人民币", "元").replace("块钱", "元")
    # The pattern is tried at every character; most texts hold none of its words.
    if any(word in folded for word in _CURRENCY_WORDS):
        return _CURRENCY_WORD.sub("元", folded)
    return folded


def normalize_query(text: str) -> str:
    """The normalised form of a search text (seed, search section).

    One spelling of the currency (`fold_currency`); sentence punctuation and runs of white space become one
    blank; no blank at the ends. `"人民币100，  50块钱"` becomes `"元100 50元"`.
    """
    return " ".join(_PUNCTUATION.sub(" ", fold_currency(text)).split())
