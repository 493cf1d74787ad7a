"""One spelling for text that is compared: queries, documents, titles.

Belongs here: character folding and the search normaliser `nfkc-casefold-basic-punctuation-v1`. Does not
belong here: tokens (`tokens`), amounts of money (`tasks.budget`), option keys (`catalog.product`).
"""

import re
import unicodedata

# "3rmb", "3 yuan": only a whole word after a digit is the currency. Han may follow directly ("3rmb左右"), so
# the word ends at anything that is not an ASCII word character.
_CURRENCY_WORD = re.compile(r"(?<=\d)\s*(?:rmb|cny|yuan)(?![a-z0-9_])")
_PUNCTUATION = re.compile(r"[，,。；;：:！!？?、|]+")


def fold(text: str) -> str:
    """NFKC, then case folded: full-width and compatibility forms and letter case stop mattering."""
    return unicodedata.normalize("NFKC", text).casefold()


def normalize_query(text: str) -> str:
    """The normalised form of a search text (seed, search section).

    Folded; 人民币, 块钱 and a currency word after a digit become 元; sentence punctuation and runs of white
    space become one blank; no blank at the ends. `"人民币100，  50块钱"` becomes `"元100 50元"`.
    """
    folded = fold(text).replace("人民币", "元").replace("块钱", "元")
    return " ".join(_PUNCTUATION.sub(" ", _CURRENCY_WORD.sub("元", folded)).split())
