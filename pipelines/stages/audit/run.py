"""The whole audit: every family of codes over every product and every active task.

Belongs here: which family looks at what, and the human list. No rule of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit import codes
from pipelines.stages.audit.cases import Case, iter_cases
from pipelines.stages.audit.duplicates import instruction_findings, product_findings
from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.money import listing_findings, money_findings
from pipelines.stages.audit.options import option_findings
from pipelines.stages.audit.personas import persona_findings
from pipelines.stages.audit.targets import target_findings
from pipelines.stages.human_exclusions import HUMAN_EXCLUSION, Exclusion
from shopsim_env.catalog.product import Product


def run_audit(
    raw: Iterable[Mapping[str, Any]],
    cleaned: Iterable[Mapping[str, Any]],
    annotations: Mapping[int, Annotation],
    human: Iterable[tuple[str, Exclusion]] = (),
) -> list[Finding]:
    """All findings.

    Args:
        raw: Every product of the raw archive, also the excluded ones.
        cleaned: The products of the cleaned archive with their active tasks.
        annotations: Task id to the final annotation of every persona task.
        human: What people listed for exclusion: the product, also of a listed task, and the entry.
    """
    findings: list[Finding] = []
    titles: dict[str, tuple[str, str]] = {}
    for record in raw:
        product = Product.from_record(record)
        titles[product.asin] = (product.title, product.category)
        findings += [*option_findings(product), *listing_findings(product)]
    findings += product_findings(titles)
    cases: list[Case] = list(iter_cases(cleaned))
    for case in cases:
        findings += _task_findings(case, annotations.get(case.task_id))
    findings += instruction_findings(cases)
    findings += _listed(human)
    return findings


def _task_findings(case: Case, annotation: Annotation | None) -> Iterator[Finding]:
    yield from target_findings(case)
    yield from money_findings(case, annotation)
    yield from persona_findings(case)


def _listed(human: Iterable[tuple[str, Exclusion]]) -> Iterator[Finding]:
    for asin, entry in human:
        yield Finding(HUMAN_EXCLUSION, asin, entry.task, {"reason": entry.reason, "author": entry.author})


def counts_by_split(
    findings: Iterable[Finding], splits: Mapping[str, Sequence[int]], asin_of: Mapping[int, str]
) -> dict[str, dict[str, int]]:
    """Split to code to the number of its tasks that have the code, themselves or through their product.

    Args:
        findings: All findings.
        splits: Split name to task ids.
        asin_of: Gold product of every active task.
    """
    tasks: dict[int, set[str]] = {}
    products: dict[str, set[str]] = {}
    for item in findings:
        if item.task_id is None:
            products.setdefault(item.asin, set()).add(item.code)
        else:
            tasks.setdefault(item.task_id, set()).add(item.code)
    counts: dict[str, dict[str, int]] = {}
    for name, ids in splits.items():
        found = [tasks.get(task_id, set()) | products.get(asin_of[task_id], set()) for task_id in ids]
        every = {code: sum(code in one for one in found) for code in codes.CODES}
        counts[name] = {code: count for code, count in every.items() if count}
    return counts
