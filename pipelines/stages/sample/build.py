"""Joins the parts into records: one row per product with its truth and its recorded annotation.

Rows come one at a time, so that a full-size archive needs no more memory than a small one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.stages.sample import faults
from pipelines.stages.sample.catalogue import make_options
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.goods import Facts, make_facts
from pipelines.stages.sample.options import IMAGE_HOST, OptionsDraft, listing, raw_options
from pipelines.stages.sample.personas import copied_persona, make_persona
from pipelines.stages.sample.plan import RecordPlan, make_plans
from pipelines.stages.sample.tasks import (
    TaskDraft,
    annotation,
    fallback_annotation,
    make_task,
    raw_instruction,
    truth_budget,
)
from pipelines.stages.sample.vocabulary import Vocabulary, load_vocabulary
from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import UsageError

ANNOTATION_VERSION = "qwen-persona-price-upper-v3"
_FALLBACKS = 2


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One product: raw record, planted fault ("" for none), right budget, annotation of a persona task."""

    index: int
    record: dict[str, Any]
    fault: str
    winnable: bool
    budget: dict[str, Any]
    annotation: dict[str, Any] | None


def generate_sample(
    products: int, seed: int, excluded: Mapping[int, tuple[str, tuple[str, ...]]] | None = None
) -> Iterator[SampleRow]:
    """Rows of a sample archive in archive order; the same arguments give the same rows everywhere.

    Args:
        products: Number of products, at least 1.
        seed: Any integer.
        excluded: Index -> (asin, names of its price-varying axes) of the products that are to be excluded
            for having two or more; None plants 3 % at random.

    Raises:
        UsageError: `products` is below 1, or an excluded index lies outside the archive.
    """
    if products < 1:
        raise UsageError(f"expected at least 1 product, found {products}")
    outside = [index for index in excluded or () if not 0 <= index < products]
    if outside:
        raise UsageError(f"expected excluded indices below {products}, found {outside[:3]}")
    plans = make_plans(products, seed, excluded)
    fallbacks = set(_fallback_ids(plans))
    words = load_vocabulary()
    return (_row(plan, plans, words, plan.index in fallbacks) for plan in plans)


def _fallback_ids(plans: Sequence[RecordPlan]) -> list[int]:
    """Two ordinary persona tasks whose annotation is left to the run-time parser."""
    plain = [plan.index for plan in plans if plan.has_persona and not plan.fault and plan.family == "around"]
    return plain[-_FALLBACKS:]


def _row(plan: RecordPlan, plans: Sequence[RecordPlan], words: Vocabulary, fallback: bool) -> SampleRow:
    facts = make_facts(plan, words)
    options = make_options(plan, facts, words)
    task = make_task(plan, facts, options)
    record = _record(plan, facts, options, task)
    if plan.has_persona:
        record["user_persona"] = _persona(plan, plans, facts, options, words)
    return SampleRow(
        index=plan.index,
        record=record,
        fault=plan.fault,
        winnable=task.winnable,
        budget=truth_budget(task),
        annotation=_annotation(plan, task, fallback),
    )


def _record(plan: RecordPlan, facts: Facts, options: OptionsDraft, task: TaskDraft) -> dict[str, Any]:
    """The product in the raw schema, keys in the order of the archive."""
    rng = seeded(f"{plan.seed}:record")
    return {
        "asin": plan.asin,
        "tag": plan.tag,
        "domain_zh": facts.domain.zh,
        "domain_en_short": facts.domain.short,
        "domain_en_long": facts.domain.long,
        "title": facts.title,
        "sub_title": facts.sub_title,
        "shop_name": facts.shop,
        "category": facts.kind.category,
        "full_description": facts.title,
        "attribute": [tag.text for tag in facts.tags],
        "images": [
            f"{IMAGE_HOST}/item/{plan.asin}-{number}{'-0-item_pic' if number == 1 else ''}.jpg"
            for number in range(1, rng.choice((5, 6)))
        ],
        "pricing": listing(options),
        "customization_options": raw_options(options),
        "instructions": [raw_instruction(plan.asin, task)],
    }


def _persona(
    plan: RecordPlan,
    plans: Sequence[RecordPlan],
    facts: Facts,
    options: OptionsDraft,
    words: Vocabulary,
) -> dict[str, Any]:
    if plan.persona_of is None:
        return make_persona(plan, facts, options.axes, options.gold_price, words)
    first = plans[plan.persona_of]
    first_facts = make_facts(first, words)
    first_options = make_options(first, first_facts, words)
    persona = make_persona(first, first_facts, first_options.axes, first_options.gold_price, words)
    return copied_persona(seeded(f"{plan.seed}:copy"), persona)


def _annotation(plan: RecordPlan, task: TaskDraft, fallback: bool) -> dict[str, Any] | None:
    if not plan.has_persona or plan.fault == faults.MULTI_PRICE_AXES:
        return None
    uid = sha256_text(compact_json([plan.asin, 0, task.full]))[:24]
    identity = {
        "task_id": plan.index,
        "task_uid": f"shopsim-{uid}",
        "source_product_index": plan.index,
        "asin": plan.asin,
    }
    if fallback:
        return fallback_annotation(identity, ("instruction_simple",))
    return annotation(task, identity, ANNOTATION_VERSION)
