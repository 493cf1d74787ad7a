"""Goods of the sample: kind, brand, shop, title and attribute tags of a product, put together from the words.

Options and prices are made in `catalogue`, sentences in `instructions`.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.stages.sample import faults
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.plan import RecordPlan
from pipelines.stages.sample.vocabulary import Domain, Kind, Vocabulary

_LONGEST_TITLE = 61
_QUIRK_MARKS = {"double_blank": "  ", "lost_emoji": "?"}
_ATTRIBUTE_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18)
_ATTRIBUTE_WEIGHTS = (42, 115, 195, 216, 209, 150, 103, 80, 40, 30, 5, 2, 2)


@dataclass(frozen=True, slots=True)
class Tag:
    """One attribute tag and what kind of word it is: trait, stuff, scene, people, alias or brand."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a product is, apart from its options.

    `tags` are its attributes; `title_tags` are words of the same kind that stand in the title alone.
    """

    domain: Domain
    kind: Kind
    brand: str
    shop: str
    title: str
    sub_title: str | None
    tags: tuple[Tag, ...]
    title_tags: tuple[Tag, ...]


def make_facts(plan: RecordPlan, words: Vocabulary) -> Facts:
    """Kind, brand, title and attribute tags; equal for plans that share `facts_seed`."""
    rng = seeded(plan.facts_seed)
    domain = words.domains[plan.domain]
    kind = _fitting_kind(rng, domain, plan.axis_names)
    brand = _brand(rng, words.common)
    tags = _tag_pool(rng, kind)
    title, used = _title(rng, kind, brand, tags, words.common, plan.title_quirk)
    chosen = _attributes(rng, used, tags, brand)
    decoration = words.common["decoration"]
    own = seeded(f"{plan.seed}:shop")
    return Facts(
        domain=domain,
        kind=kind,
        brand=brand,
        shop=_shop(own, brand, words.common),
        title=title,
        sub_title=own.choices((None, "", own.choice(decoration["sub_titles"])), (45, 35, 20))[0],
        tags=() if plan.fault == faults.ATTRIBUTES_EMPTY and plan.fault_number % 2 else chosen,
        title_tags=tuple(tag for tag in used if tag not in chosen),
    )


def _fitting_kind(rng: random.Random, domain: Domain, names: Sequence[str]) -> Kind:
    """A kind whose own second axis is among `names`, else any."""
    fitting = [kind for kind in domain.kinds if kind.second.name in names]
    return rng.choice(fitting or domain.kinds)


def _brand(rng: random.Random, common: Any) -> str:
    chinese = "".join(rng.sample(common["brand_chars"], 3))
    if rng.random() > 0.15:
        return chinese
    latin = "".join(rng.sample(common["brand_latin"], 3)).capitalize()
    return latin if rng.random() < 0.4 else f"{latin}/{chinese}"


def _shop(rng: random.Random, brand: str, common: Any) -> str:
    name = brand if rng.random() < 0.8 else "".join(rng.sample(common["brand_chars"], 3))
    return f"{name.split('/')[-1]}{rng.choice(common['shop_ends'])}"


def _tag_pool(rng: random.Random, kind: Kind) -> list[Tag]:
    pool = [Tag("trait", word) for word in kind.traits]
    pool += [Tag("scene", word) for word in kind.scenes]
    pool += [Tag("people", word) for word in kind.people]
    pool.append(Tag("stuff", rng.choice(kind.stuff)))
    rng.shuffle(pool)
    return pool


def _title_length(rng: random.Random) -> int:
    low, high = rng.choices(
        ((26, 30), (30, 32), (16, 25), (33, 46), (6, 14), (47, 61)), (30, 44, 8, 13, 2.5, 2.5)
    )[0]
    return rng.randint(low, high)


def _title(
    rng: random.Random, kind: Kind, brand: str, tags: Sequence[Tag], common: Any, quirk: str
) -> tuple[str, list[Tag]]:
    """A dense keyword title and the tags that it uses."""
    limit = _title_length(rng)
    parts = [kind.noun]
    used: list[Tag] = []
    ahead = [brand] if rng.random() < 0.6 else []
    if kind.has_model and rng.random() < 0.7:
        ahead.append(f"{rng.choice('ADEGKLMQRTVX')}{rng.choice('0SXT')}{rng.randint(10, 990)}")
    if rng.random() < 0.07:
        ahead.insert(0, rng.choice(common["decoration"]["prefixes"]))
    queue: list[Tag | str] = [*tags, *kind.alias]
    rng.shuffle(queue)
    queue += rng.sample(common["decoration"]["fillers"], 8)
    for word in queue:
        text = word.text if isinstance(word, Tag) else word
        if sum(map(len, ahead + parts)) + len(text) > limit:
            continue
        (ahead if len(used) % 2 == 0 and rng.random() < 0.6 else parts).append(text)
        if isinstance(word, Tag):
            used.append(word)
    while len(ahead) > 1 and sum(map(len, ahead + parts)) > _LONGEST_TITLE:
        ahead.pop()
    pieces = [*ahead, *parts]
    if len(pieces) == 1 or sum(map(len, pieces)) < 5:
        pieces.append(kind.alias[0])
    gap = " " if rng.random() < 0.1 and not quirk else ""
    # Quirks stand between two words, as where an emoji of the page was lost.
    pieces[0] += _QUIRK_MARKS.get(quirk, "")
    return gap.join(pieces)[:_LONGEST_TITLE].strip(), used


def _attributes(rng: random.Random, used: Sequence[Tag], tags: Sequence[Tag], brand: str) -> tuple[Tag, ...]:
    """Attribute tags: mostly words of the title, then others of the kind, now and then the brand."""
    count = rng.choices(_ATTRIBUTE_COUNTS, _ATTRIBUTE_WEIGHTS)[0]
    rest = [tag for tag in tags if tag not in used]
    chosen = ([*used, *rest] if rng.random() < 0.85 else list(tags))[:count]
    if rng.random() < 0.06:
        chosen[-1] = Tag("brand", brand)
    rng.shuffle(chosen)
    return tuple(chosen)
