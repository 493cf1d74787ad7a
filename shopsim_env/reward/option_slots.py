"""What an option value says, as slots that another value can fill or not.

Belongs here: the canonical form of a value and its slots (numbers with units, Latin tokens, Han segments,
symbols, negations, bundles). Which selected value must fill which requirement is decided in `option`.
Source: contract 7.3.
"""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

_OPENING = "([{【〔〖「『《〈<"
_CLOSING = ")]}】〕〗」』》〉>"
_UNIFY = str.maketrans(
    "×✕✖╳*/" + _OPENING + _CLOSING,
    "xxxxx|" + "(" * len(_OPENING) + ")" * len(_CLOSING),
    "\u200b\u2060\ufeff\ufe0e\ufe0f",
)
_SEPARATORS = re.compile(r"[\s()]+")
# Latin and digit runs (2xl, 5.5mm), runs of any other letters (Han, kana), single symbols and emoji.
_ATOM = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*|(?:(?![a-z0-9_])\w)+|.", re.DOTALL)
_NEGATION = re.compile(r"不含|不带|不包|不要|没有|无(?!线)|非")
_MULTIPLE = re.compile(r"(?<![0-9])x ?[0-9]+|[0-9二两三四五六七八九十]+[件只个双瓶包盒条支片袋套对]装")
_GIFT = re.compile(r"[+送赠]")


class Slots(NamedTuple):
    """Slots of one value: `atoms` counts numbers with units, Latin tokens, Han segments and symbols."""

    atoms: Counter[str]
    negations: Counter[str]
    bundles: Counter[str]


def unify(value: str) -> str:
    """NFKC, case folded, multiplication signs as x, `/` as `|`, one kind of bracket; blanks stay."""
    # Signs first: NFKC turns some of them into other characters.
    folded = unicodedata.normalize("NFKC", value.translate(_UNIFY)).casefold()
    return folded.translate(_UNIFY)


@lru_cache(maxsize=4096)
def canon(value: str) -> str:
    """`unify` without blanks: spellings with the same form are one value. Idempotent."""
    text = "".join(unify(value).split())
    # Removing a blank may let two characters compose, so go on until nothing changes.
    while (again := "".join(unify(text).split())) != text:
        text = again
    return text


@lru_cache(maxsize=4096)
def read_slots(value: str) -> Slots:
    """Slots of `value`; blanks and brackets separate segments and are no symbols."""
    text = unify(value)
    atoms: Counter[str] = Counter()
    for segment in filter(None, _SEPARATORS.split(text)):
        atoms.update(_with_units(_ATOM.findall(segment)))
    return Slots(
        atoms,
        Counter(_NEGATION.findall(text)),
        Counter(_MULTIPLE.findall(text)) + Counter(_GIFT.findall(text)),
    )


def _with_units(atoms: list[str]) -> list[str]:
    """Joins a bare number with the Han run behind it: 20片装 is one slot, 256gb星光色 are two."""
    joined: list[str] = []
    for atom in atoms:
        if joined and atom[0].isalpha() and not atom.isascii() and _is_number(joined[-1]):
            joined[-1] += atom
        else:
            joined.append(atom)
    return joined


def _is_number(atom: str) -> bool:
    return atom.replace(".", "").isdecimal()


def why_not_filled(required: Slots, selected: Slots) -> str:
    """Code of the first slot of `required` that `selected` does not fill, "" when it fills all of them."""
    missing = required.atoms - selected.atoms
    if missing:
        return f"missing_{_kind(next(iter(missing)))}"
    if required.negations != selected.negations:
        return "negation"
    if selected.bundles - required.bundles:
        return "added_bundle"
    return ""


def _kind(atom: str) -> str:
    if atom[0].isdecimal():
        return "number"
    if atom[0].isascii() and atom[0].isalpha():
        return "latin"
    return "segment" if atom[0].isalpha() else "symbol"
