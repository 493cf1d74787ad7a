"""Option reward: how many required option values the purchase has.

Belongs here: the default rule `anchored` and the published rule `paper`, for one value and for a whole
purchase. The slots of a value are in `option_slots`. Source: contract 7.3; measured effects of both rules:
docs/reward.md.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shopsim_env.catalog.product import Product
from shopsim_env.errors import UsageError
from shopsim_env.reward.fuzzy import MATCH_ABOVE, token_set_ratio
from shopsim_env.reward.option_slots import canon, read_slots, why_not_filled

# One emoji with its joined parts. The joiner itself is no symbol here, so that there is one way to match.
_LOST_SYMBOL = r"[^\w\s\u200d](?:\u200d[^\w\s\u200d])*"
_MOST_LOST = 3
OPTION_RULES = ("anchored", "paper")


@dataclass(frozen=True, slots=True)
class OptionMatch:
    """Whether a selected value meets a requirement.

    `rule` is anchor, lost_symbol, slots or paper; `why` a code: same_value, other_value, filled,
    missing_number, missing_latin, missing_segment, missing_symbol, negation, added_bundle, blank,
    score_above, score_below.
    """

    match: bool
    rule: str
    why: str


def match_option(
    required: str, selected: str, own_values: Iterable[str] | None = None, *, rule: str = "anchored"
) -> OptionMatch:
    """Compares one required with one selected value.

    Args:
        required: Target value in any spelling.
        selected: Chosen value, raw or public.
        own_values: All option values of the bought product; None when unknown. A requirement that is one of
            them is met by that value alone.
        rule: `anchored` or `paper` (token-set score above 85).

    Raises:
        UsageError: unknown rule (code `unknown_option_rule`).
    """
    check_option_rule(rule)
    if not required.strip():
        return OptionMatch(False, "slots" if rule == "anchored" else "paper", "blank")
    if rule == "paper":
        matched = token_set_ratio(selected, required) > MATCH_ABOVE
        return OptionMatch(matched, "paper", "score_above" if matched else "score_below")
    anchor, how = _find_anchor(required, own_values or ())
    if anchor is not None:
        same = canon(selected) == anchor
        return OptionMatch(same, how, "same_value" if same else "other_value")
    # Equal spellings meet each other even where a blank cuts their slots apart (`5.5 mm`, `5.5mm`).
    equal = canon(selected) == canon(required)
    why = "" if equal else why_not_filled(read_slots(required), read_slots(selected))
    return OptionMatch(not why, "slots", why or "filled")


def lost_symbol_fits(required: str, own_values: Iterable[str]) -> list[str]:
    """Distinct own values, in canonical form, that `required` may mean where each `?` is a lost symbol.

    One of them anchors the requirement (contract 7.3); with several nobody can say which was meant.
    """
    return sorted(_lost_symbol_fits(canon(required), {canon(value) for value in own_values}))


def _lost_symbol_fits(wanted: str, own: Collection[str]) -> list[str]:
    if not 0 < wanted.count("?") <= _MOST_LOST:
        return []
    pattern = re.compile(_LOST_SYMBOL.join(map(re.escape, wanted.split("?"))))
    return [value for value in own if pattern.fullmatch(value)]


def check_option_rule(rule: str) -> None:
    """Refuses a rule that does not exist."""
    if rule not in OPTION_RULES:
        raise UsageError(
            f"option_match must be one of {', '.join(OPTION_RULES)}; found {rule!r}.",
            code="unknown_option_rule",
        )


def count_matches(
    required: Sequence[str], selected: Mapping[str, str], product: Product, *, rule: str = "anchored"
) -> int:
    """Number of requirements that the selected values meet.

    Under `anchored` each requirement needs a selected axis of its own, or a part of one combined value that
    no other requirement uses; the largest possible number counts. Under `paper` values are not used up.
    """
    check_option_rule(rule)
    values = list(selected.values())
    if rule == "paper":
        return sum(any(match_option(one, value, rule=rule).match for value in values) for one in required)
    own = [value.raw for axis in product.axes for value in axis.values]
    wanted = [_fitting(one, values, own) for one in required if one.strip()]
    return _most([fit for fit in wanted if fit.axes], {}, 0)


@dataclass(frozen=True, slots=True)
class _Fit:
    """Selected axes (positions) that meet a requirement alone; `needs` are the slots used, None for all."""

    axes: tuple[int, ...]
    needs: Counter[str] | None
    stock: tuple[Counter[str], ...]


def _fitting(required: str, values: Sequence[str], own: Sequence[str]) -> _Fit:
    matches = [match_option(required, value, own) for value in values]
    axes = tuple(index for index, match in enumerate(matches) if match.match)
    slots = read_slots(required)
    anchored = any(match.rule != "slots" for match in matches)
    return _Fit(axes, None if anchored else slots.atoms, tuple(read_slots(value).atoms for value in values))


def _most(fits: Sequence[_Fit], used: Mapping[int, Counter[str] | None], position: int) -> int:
    """Largest number of requirements from `position` on that can be met beside those in `used`."""
    if all(fit.needs is None for fit in fits):
        return _largest_matching([fit.axes for fit in fits])
    return _search(fits, used, position, {})


def _largest_matching(choices: Sequence[tuple[int, ...]]) -> int:
    """Requirements that can have an axis of their own: augmenting paths, so many axes cost no more."""
    owner: dict[int, int] = {}

    def claim(requirement: int, seen: set[int]) -> bool:
        for axis in choices[requirement]:
            if axis not in seen:
                seen.add(axis)
                if axis not in owner or claim(owner[axis], seen):
                    owner[axis] = requirement
                    return True
        return False

    return sum(claim(requirement, set()) for requirement in range(len(choices)))


_State = tuple[int, tuple[tuple[int, tuple[tuple[str, int], ...] | None], ...]]


def _search(
    fits: Sequence[_Fit], used: Mapping[int, Counter[str] | None], position: int, known: dict[_State, int]
) -> int:
    """`_most` where values are shared by their parts: tries all ways, each situation once."""
    if position == len(fits):
        return 0
    parts = sorted((axis, None if c is None else tuple(sorted(c.items()))) for axis, c in used.items())
    state = (position, tuple(parts))
    if state not in known:
        fit = fits[position]
        taken = [_take(fit, axis, used) for axis in fit.axes]
        best = [1 + _search(fits, one, position + 1, known) for one in taken if one is not None]
        known[state] = max([*best, _search(fits, used, position + 1, known)])
    return known[state]


def _take(
    fit: _Fit, axis: int, used: Mapping[int, Counter[str] | None]
) -> dict[int, Counter[str] | None] | None:
    """`used` plus this requirement on `axis`, None when what it needs is taken already."""
    if axis not in used:
        return {**used, axis: fit.needs}
    before = used[axis]
    if before is None or fit.needs is None:
        return None
    together = before + fit.needs
    return None if together - fit.stock[axis] else {**used, axis: together}


def _find_anchor(required: str, own_values: Iterable[str]) -> tuple[str | None, str]:
    wanted = canon(required)
    own = {canon(value) for value in own_values}
    if wanted in own:
        return wanted, "anchor"
    fitting = _lost_symbol_fits(wanted, own)
    return (fitting[0], "lost_symbol") if len(fitting) == 1 else (None, "slots")
