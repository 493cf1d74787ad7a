"""What a message to the customer asks: topics, named values, a purchase, or anything at all.

Belongs here: the deterministic reading of a message. It never raises and knows nothing of what was told.
A yes/no question that names a concrete value counts as asking for the fact (contract 7.16).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from shopsim_env.dialogue.ledger import Fact, mentions, plain
from shopsim_env.dialogue.topics import topics_asked
from shopsim_env.tasks.budget import parse_budget

_BUYING = re.compile(
    r"下单|下订单|结账|结算|付款|付钱|支付|拍下|成交|确认购买|确定购买|购买吗|是否购买|(?:可以|能|要不要|现在|直接|帮您|帮你|为您)"
    r"(?:买|购买)(?:吗|了|下|它|这|$|[？?。！!，,])|就(?:买|要|选|定)?(?:这|它)|买下|买(?:这|它|了)|买吗"
    r"|(?:这|它)[^，。？！,?!]{0,16}(?:可以|行|合适|满意|喜欢|怎么样|如何|符合)(?:吗|么|嘛|不|$|[？?])"
    r"|满意吗|合适吗|符合(?:您|你)?的?(?:要求|需求|预期)|同意吗"
)
_WISH = "(?:要求|需求|偏好|喜好|期望|想法|讲究)"
_OPEN = re.compile(
    "(?:什么|哪些|啥|其[他它]|别的|特别|特殊|具体|详细|更多|全部|所有|[您你]的|[您你]有|有没有|说说|描述)"
    f"(?:的|样的|特别的|具体的|其[他它]的?|购物|购买)?{_WISH}|^(?:请问)?(?:还有)?{_WISH}(?:$|[呢吗？?])"
    "|还有(?:什么|哪些|别的|其[他它]|没有|吗|呢|要|需要|补充|没说)|补充|什么样的|怎样的|[想需]?要什么|说说看"
    "|[还有](?:其[他它]|别的)(?:$|[呢吗？?]|方面)|^其[他它](?:$|[呢吗？?]|方面)"
    "|(?:具体|详细)(?:说|描述|介绍|讲|一点|一些)|介绍一下"
    f"|(?:^|[您你还]|对[^，。？！,?!]{{1,12}}?)有(?:没有|什么|哪些|啥)?{_WISH}"
)
# 对店铺有什么要求 asks for nothing that a fact could answer; 对台灯有什么要求 asks for anything.
_ABOUT = re.compile("对([^，。？！,?!]{1,12}?)还?有")
_ANYTHING = frozenset("品产东西我您你这它此")
_SINGLE = re.compile("[\u3400-\u9fff]")
_AFTER_SINGLE = "[色号码款的味]"


@dataclass(frozen=True, slots=True)
class Question:
    """One message as understood.

    `named` are ids of facts whose value or label the message names, in ledger order; `topics` in order of
    mention; `buying` asks whether to buy; `open` asks for requirements without saying which.
    """

    named: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    buying: bool = False
    open: bool = False

    @property
    def recognised(self) -> bool:
        """Whether the message asks anything that the customer understands."""
        return bool(self.named or self.topics or self.buying or self.open)


def understand(message: str, facts: Sequence[Fact]) -> Question:
    """Reads a message; any text is accepted. Source: contract 7.16.

    Naming the category asks for nothing: its word occurs in most questions. A stated amount of money (300以内
    可以吗) asks for the budget, in any form that the budget parser reads.
    """
    text = plain(message)
    topics = topics_asked(text)
    if "budget" not in topics and parse_budget(message).upper is not None:
        topics += ("budget",)
    return Question(
        named=tuple(fact.id for fact in facts if fact.kind != "category" and _names(text, fact)),
        topics=topics,
        buying=_BUYING.search(text) is not None,
        open=_asks_for_anything(text, facts),
    )


def _asks_for_anything(text: str, facts: Sequence[Fact]) -> bool:
    if _OPEN.search(text) is None:
        return False
    about = _ABOUT.search(text)
    what = {letter for fact in facts if fact.kind == "category" for letter in plain(fact.value)}
    return about is None or not (what | _ANYTHING).isdisjoint(about[1])


def _names(text: str, fact: Fact) -> bool:
    return any(_names_value(text, plain(name)) for name in (fact.value, fact.label, *fact.names))


def _names_value(text: str, value: str) -> bool:
    # One Han character is too common to be a name (多大 is no question for 大): it needs 大号, 红色, 红的.
    if len(value) == 1 and _SINGLE.match(value):
        return re.search(f"{value}{_AFTER_SINGLE}", text) is not None
    return mentions(text, value)
