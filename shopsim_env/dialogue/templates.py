"""The customer's sentences, with several wordings of each; a key picks one.

Belongs here: Chinese wordings and the choice among them. No wording holds a digit or a Latin letter, so that
those in a reply can only come from facts. What is said when is decided in `shopper`.
"""

import hashlib
from collections.abc import Sequence

from shopsim_env.dialogue.ledger import Fact, mentions, plain

WORDINGS: dict[str, tuple[str, ...]] = {
    "opening": (
        "你好，我想买{what}，能帮我挑一下吗？",
        "我在找{what}，麻烦帮我看看。",
        "想入手{what}，有没有推荐？",
        "请帮我选{what}，谢谢。",
        "最近打算买{what}，帮我找找吧。",
        "能帮我找{what}吗？",
    ),
    "opening_unknown": (
        "你好，我想买件东西，能帮我挑一下吗？",
        "想买样东西，麻烦帮我看看。",
        "请帮我选件东西，谢谢。",
    ),
    "category": ("我想买的是{value}", "我要找的是{value}", "就是{value}这一类"),
    "option_labelled": ("{label}要{value}", "{label}选{value}", "{label}我想要{value}"),
    "option": ("规格要{value}", "我要{value}这个规格", "规格选{value}"),
    "attribute": ("希望是{value}", "最好符合{value}这一点", "我看重{value}", "要满足{value}"),
    "budget": ("价格不超过{value}", "预算最高{value}", "总价控制在{value}以内"),
    "more": ("这方面还有没说完的，可以接着问。", "关于这些还有要求，你再问问。", "还没说完，可以继续问我。"),
    "no_more": ("这方面就这些。", "这方面说完了。", "这方面没有别的了。"),
    "repeated": ("前面说过了，", "这个我提过，", "还是那句话，"),
    "nothing": (
        "{topic}我没有什么想说的。",
        "{topic}这方面我没有可补充的。",
        "关于{topic}，我说不出什么来。",
    ),
    "nothing_left": ("我的要求都说完了。", "没有别的要求了，都说过了。", "该说的我都说了。"),
    "unrecognised": (
        "抱歉，我没太明白，你可以问得具体一点。",
        "不好意思，这个我不太清楚你在问什么，换个问法吧。",
        "抱歉没听懂，你想了解我的哪方面要求？",
    ),
    "objection": (
        "先别急着下单，我还有要求没说到。",
        "现在还不能买，有些要求你还没问我。",
        "先不要购买，我的要求还没说完，请再问问。",
    ),
    "confirmation": (
        "要求都告诉你了，核对无误就可以下单。",
        "可以，确认和我说的一致就买吧。",
        "行，和我的要求都对得上的话就下单吧。",
    ),
}


def pick(key: str, slot: str, avoid: Sequence[Fact] = (), **values: str) -> str:
    """One wording of `slot` with `values` filled in.

    Args:
        key: Decides which; equal keys give equal words on every machine.
        slot: Name in `WORDINGS`.
        avoid: Facts whose text must not occur by accident; kept to where some wording allows it.
        values: Texts for the gaps.
    """
    wordings = WORDINGS[slot]
    start = int.from_bytes(hashlib.sha256(f"{key}|{slot}".encode()).digest()[:4], "big") % len(wordings)
    ordered = wordings[start:] + wordings[:start]
    safe = (text for text in ordered if not any(mentions(plain(text), plain(fact.value)) for fact in avoid))
    return next(safe, ordered[0]).format(**values)


def fact_clause(key: str, fact: Fact, avoid: Sequence[Fact] = ()) -> str:
    """A clause, without final punctuation, that tells one fact verbatim."""
    # An axis name may hold another fact's text; then the value is told without it.
    labelled = fact.label and not any(mentions(plain(fact.label), plain(item.value)) for item in avoid)
    slot = "option_labelled" if fact.kind == "option" and labelled else fact.kind
    return pick(f"{key}|{fact.id}", slot, avoid, value=fact.value, label=fact.label)
