"""Personas: goal text that the persona gives away, graded by the length of the span.

Belongs here: codes about the persona of a task. Only what the simple text does not say anyway is a leak, and
only the projected persona is looked at, but for the user id, which the projection takes out.
"""

from collections.abc import Iterator

from pipelines.stages.audit import codes
from pipelines.stages.audit.cases import Case
from pipelines.stages.audit.coverage import comparable, leaves, size, verbatim
from pipelines.stages.audit.findings import Finding
from pipelines.stages.persona_groups import user_id

_SHORT, _LONG = 4, 8
_SMALLEST_OPTION = 2


def persona_findings(case: Case) -> Iterator[Finding]:
    """Codes about what the persona of one task tells of its goal; none for standard tasks."""
    if case.raw_persona is None or case.persona is None:
        return
    asin = case.goal.product.asin
    if asin.casefold() in user_id(case.raw_persona):
        yield Finding(codes.PERSONA_ID_IS_GOLD, asin, case.task_id, {})
    texts = [comparable(text) for text in leaves(case.persona)]
    option = _whole_option(case, texts)
    if option:
        yield Finding(codes.PERSONA_LEAK_OPTION, asin, case.task_id, {"option": option})
        return
    span = _longest_span(case, texts)
    if len(span) >= _SHORT:
        code = codes.PERSONA_LEAK_LONG if len(span) >= _LONG else codes.PERSONA_LEAK_SHORT
        yield Finding(code, asin, case.task_id, {"span": span, "characters": len(span)})


def _whole_option(case: Case, texts: list[str]) -> str:
    """A target option that stands in one entry of the persona and not in the simple text."""
    simple = comparable(case.goal.instruction_simple)
    for option in case.goal.options:
        hidden = size(option) >= _SMALLEST_OPTION and not verbatim(option, simple)
        if hidden and any(verbatim(option, text) for text in texts):
            return option
    return ""


def _longest_span(case: Case, texts: list[str]) -> str:
    """The longest run that the persona shares with title or options and not with the simple text."""
    goal, simple = case.goal, comparable(case.goal.instruction_simple)
    private = {
        piece
        for text in (goal.product.title, *goal.options)
        for piece in _pieces(comparable(text))
        if piece not in simple
    }
    best = ""
    for text in texts:
        start = 0
        for at, piece in enumerate([*_pieces(text), ""]):
            if piece not in private:
                span = text[start : at + _SHORT - 1] if at > start else ""
                best = max(best, span, key=len)
                start = at + 1
    return best


def _pieces(text: str) -> list[str]:
    return [text[at : at + _SHORT] for at in range(len(text) - _SHORT + 1)]
