"""Sentences of rules, facts and questions in Chinese and English.

Belongs here: how a condition, an outcome, a rule, a fact and a question are said. The same noun stands for
the same thing everywhere, so that a rule and a fact that meet can be seen to meet.
"""

from shopsim_env.rlve.policy.phrases import ABSENT, EFFECTS, LABELS, QUESTIONS, SAID
from shopsim_env.rlve.policy.rules import DECIDES, DEFINITION, SUPPLEMENT, Condition, Rule, Value
from shopsim_env.rlve.policy.vocabulary import FAMILIES, FLAGS, MONEY, NAMES, SOURCES
from shopsim_env.rlve.scores.policy import AMOUNT, DAYS, NOT_COVERED, PERCENT, YES_NO, PolicyAnswer


def money(cents: int, currency: str, language: str) -> str:
    """`12.50 元` for CNY in Chinese, else the amount with the code."""
    sign, cents = ("-" if cents < 0 else ""), abs(cents)
    unit = "元" if (language, currency) == ("zh", "CNY") else currency
    return f"{sign}{cents // 100}.{cents % 100:02d} {unit}"


def core(family: str, language: str, style: int) -> str:
    """What is asked, without any circumstance."""
    found = FAMILIES[family]
    return QUESTIONS[language][found.kind][style].format(found.title(language))


def clause(topic: str, value: Value, language: str, currency: str, style: int) -> str:
    """One fact as half a sentence."""
    if topic in FLAGS:
        noun = FLAGS[topic][language != "zh"]
        if language == "zh":
            return f"这是{noun}" if value else f"这不是{noun}"
        return f"it is {noun}" if value else f"it is not {noun}"
    if topic in MONEY:
        said = money(int(value), currency, language)
    elif topic in NAMES:
        said = NAMES[topic][str(value)][language != "zh"]
    else:
        said = str(value)
    return SAID[language][topic][style].format(said)


def absent(topic: str, language: str) -> str:
    """Half a sentence for a topic that the customer has nothing for.

    A topic that a definition reads is answered as the topic that it gives: without a class, for instance.
    """
    if topic in FLAGS:
        return clause(topic, False, language, "", 0)
    by_source = {source: derived for derived, source in SOURCES.items()}
    return ABSENT[by_source.get(topic, topic)][language != "zh"]


def sentence(clauses: list[str], language: str) -> str:
    """Clauses as one sentence; nothing for none."""
    if not clauses:
        return ""
    if language == "zh":
        return "，".join(clauses) + "。"
    text = ", ".join(clauses)
    return text[0].upper() + text[1:] + "."


def rule_title(rule: Rule, language: str) -> str:
    """Title of the family and the rule's effect."""
    return f"{FAMILIES[rule.family].title(language)} · {EFFECTS[rule.effect][language != 'zh']}"


def rule_text(rule: Rule, language: str, currency: str) -> str:
    """The whole rule: conditions, outcome, exceptions, precedence."""
    title = FAMILIES[rule.family].title(language)
    conditions = [_condition(item, language, currency) for item in rule.conditions]
    exceptions = [_condition(item, language, currency) for item in rule.exceptions]
    outcome = _outcome(rule, title, language)
    if language == "zh":
        text = f"【{title}】如果{'，且'.join(conditions)}，则{outcome}。"
        text += f"例外：{'，或'.join(exceptions)}时本条不适用。" if exceptions else ""
        return f"{text}优先级 {rule.precedence}。"
    text = f"[{title}] If {' and '.join(conditions)}, then {outcome}."
    text += f" Except: it does not apply if {' or '.join(exceptions)}." if exceptions else ""
    return f"{text} Precedence {rule.precedence}."


def answer_text(answer: PolicyAnswer, language: str) -> str:
    """A value with its unit."""
    value, zh = answer.value, language == "zh"
    if answer.kind == AMOUNT:
        return money(int(value or 0), answer.currency or "", language)
    if answer.kind == DAYS:
        return f"{value} 天" if zh else f"{value} days"
    if answer.kind == PERCENT:
        return f"{value}%"
    if answer.kind == NOT_COVERED:
        return "未覆盖" if zh else "not covered"
    return ("可以" if value else "不可以") if zh else ("yes" if value else "no")


def _condition(condition: Condition, language: str, currency: str) -> str:
    topic = condition.topic
    if topic in FLAGS:
        return clause(topic, True, language, currency, 0)
    label = LABELS[topic][language != "zh"]
    if condition.values:
        names = [NAMES[topic][str(value)][language != "zh"] for value in condition.values]
        return f"{label}是{'、'.join(names)}" if language == "zh" else f"{label} is {_either(names)}"
    return label + _range(condition, language, currency)


def _either(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _range(condition: Condition, language: str, currency: str) -> str:
    def said(number: int) -> str:
        if condition.topic in MONEY:
            return money(number, currency, language)
        return f"{number}{LABELS[condition.topic][2 if language == 'zh' else 3]}"

    low, high = condition.low, condition.high
    if low is not None and high is not None:
        return f"从 {said(low)}到 {said(high)}（含两端）" if language == "zh" else (
            f" is from {said(low)} to {said(high)} (both included)"
        )  # fmt: skip
    if low is not None:
        return f"达到 {said(low)}或以上" if language == "zh" else f" is {said(low)} or more"
    return f"不超过 {said(high or 0)}" if language == "zh" else f" is {said(high or 0)} or less"


def _outcome(rule: Rule, title: str, language: str) -> str:
    zh, outcome = language == "zh", rule.outcome
    if rule.effect == DEFINITION and rule.defines:
        topic, name = rule.defines
        said = NAMES[topic][name][not zh]
        return f"{LABELS[topic][0]}为{said}" if zh else f"{LABELS[topic][1]} is {said}"
    if outcome is None:
        return f"规则 {rule.suspends} 不适用" if zh else f"rule {rule.suspends} does not apply"
    if rule.effect == SUPPLEMENT:
        return _change(outcome, title, language)
    if rule.effect == DECIDES and outcome.kind == YES_NO:
        if zh:
            return f"{'可以' if outcome.value else '不可以'}享受{title}"
        return f"the {title} {'applies' if outcome.value else 'does not apply'}"
    said = answer_text(outcome, language)
    return f"{title}为 {said}" if zh else f"the {title} is {said}"


def _change(outcome: PolicyAnswer, title: str, language: str) -> str:
    # Rules state whole numbers.
    value = int(outcome.value or 0)
    size = abs(value)
    said = answer_text(PolicyAnswer(outcome.kind, size, outcome.currency), language)
    if outcome.kind == PERCENT:
        said = f"{size} 个百分点" if language == "zh" else f"{size} percentage points"
    if language == "zh":
        return f"裁定的{title}再{'增加' if value > 0 else '减少'} {said}"
    return f"{said} {'are added to' if value > 0 else 'are taken off'} the {title} decided"
