"""Questions about the shop's rules: how spread their answers are, what guesses reach, what one costs.

    .venv/bin/python -m benchmarks.policy_questions [EPISODES]

Belongs here: the measurement and the machine's facts. Answers count with value, kind, currency and cited
rule; a value leaves the rule out. Times are CPU time per episode, on one thread.
"""

import platform
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from benchmarks.machine import cpu_name
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.guessing import forced_chance
from shopsim_env.rlve.policy.questions import MAX_BRANCH, Question, make_question
from shopsim_env.rlve.policy.search import search
from shopsim_env.rlve.policy.tables import PolicyBase

EPISODES = 2000


@dataclass
class Tally:
    """Sums over the episodes of one number of rules."""

    answers: Counter[Any] = field(default_factory=Counter)
    values: Counter[Any] = field(default_factory=Counter)
    rules: list[str | None] = field(default_factory=list)
    forced: Fraction = Fraction(0)
    first_hit: int = 0
    first_decider: int = 0
    made: float = 0.0
    searched: float = 0.0


def is_right(snippet: Mapping[str, Any], question: Question) -> bool:
    """Whether copying a snippet would answer the question."""
    outcome = snippet["rule"]["outcome"]
    stated = outcome and outcome["value"]
    return snippet["snippet_id"] == question.rule and stated == question.answer.value


def play(branch: int, episode: int, tally: Tally) -> None:
    """One episode: base, question, two searches, two guesses."""
    language = "zh" if episode % 2 else "en"
    began = time.process_time()
    draws = Draws("benchmark", branch, episode)
    base = PolicyBase(draws, "CNY")
    question = make_question(base, branch, draws, language)
    tally.made += time.process_time() - began
    tally.answers[question.answer, question.rule] += 1
    tally.values[question.answer] += 1
    tally.rules.append(question.rule)
    tally.forced += forced_chance(base, question)
    text = question.text()
    began = time.process_time()
    hits = search(base, text, 5, language)
    tally.searched += time.process_time() - began
    tally.first_hit += is_right(hits[0], question)
    family = search(base, question.core, 20, language)
    decider = next(item for item in family if item["rule"]["effect"] == "decides")
    tally.first_decider += is_right(decider, question)


def main(arguments: Sequence[str]) -> None:
    """Prints one row for each number of rules."""
    episodes = int(arguments[0]) if arguments else EPISODES
    print(f"{cpu_name()}, Python {platform.python_version()}, {episodes} episodes per number of rules")
    print("rules  answer  value   rules/300  forced  first hit  first decider  make us  first search us")
    for branch in range(1, MAX_BRANCH + 1):
        tally = Tally()
        for episode in range(episodes):
            play(branch, episode, tally)
        answer, value = (max(found.values()) / episodes for found in (tally.answers, tally.values))
        print(
            f"{branch:5}  {answer:6.2%}  {value:6.2%}  {len(set(tally.rules[:300])):9}  "
            f"{float(tally.forced / episodes):6.2%}  {tally.first_hit / episodes:9.1%}  "
            f"{tally.first_decider / episodes:13.1%}  {1e6 * tally.made / episodes:7.0f}  "
            f"{1e6 * tally.searched / episodes:15.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
