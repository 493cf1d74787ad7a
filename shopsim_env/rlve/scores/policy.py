"""Score of a typed answer to a question about the shop's rules.

Belongs here: the answer's type, equality with sign and unit, the published closeness. Not here: rule
tables, wordings.
"""

from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import TaskScore, exact

AMOUNT, DAYS, PERCENT, YES_NO, NOT_COVERED = "amount", "days", "percent", "yes_no", "not_covered"
KINDS = (AMOUNT, DAYS, PERCENT, YES_NO, NOT_COVERED)


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """A typed answer; the kind is its unit.

    Args:
        kind: One of `KINDS`.
        value: Integer cents for `amount`; an int or Fraction for `days` and `percent` (30 is 30 percent); a
            bool for `yes_no`; None for `not_covered`.
        currency: Code such as CNY for `amount`, None for every other kind.

    Raises:
        UsageError: `policy_answer_type` if the value does not fit the kind.
    """

    kind: str
    value: int | Fraction | bool | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        fits = self._value_fits() and (self.currency is not None) == (self.kind == AMOUNT)
        if not fits:
            raise UsageError(
                f"Expected one of {', '.join(KINDS)} with a value of that kind (amount: cents, currency; "
                f"days, percent: int or Fraction; yes_no: bool; not_covered: none), found {self.kind!r} with "
                f"{type(self.value).__name__}; mend the answer",
                code="policy_answer_type",
            )

    def _value_fits(self) -> bool:
        allowed: dict[str, tuple[type, ...]] = {
            AMOUNT: (int,),
            DAYS: (int, Fraction),
            PERCENT: (int, Fraction),
            YES_NO: (bool,),
            NOT_COVERED: (type(None),),
        }
        # By exact type: a bool is an int to isinstance.
        return type(self.value) in allowed.get(self.kind, ())


def closeness(answer: int | Fraction, truth: int | Fraction) -> Fraction:
    """Published rho = (smaller / larger absolute value)^4: 1 if both are 0, 0 if one is.

    Change: 0 for different signs, where the published rule takes -30 for 30.
    """
    given, wanted = exact(answer, "answer"), exact(truth, "truth")
    if given == wanted:
        return Fraction(1)
    if given * wanted <= 0:
        return Fraction(0)
    small, large = sorted((abs(given), abs(wanted)))
    return (small / large) ** 4


def score_policy(
    answer: PolicyAnswer | None, truth: PolicyAnswer, *, cited: str | None, rule: str | None
) -> TaskScore:
    """Score a typed answer.

    Published: 2·rho - 1 for numbers, ±1 for text, -1 if unreadable, success from 0.95 on (numbers within 0.6
    %). Changes: kind, currency and sign must agree, else -1; success needs the exact value and the right
    rule.

    Args:
        answer: The answer, or None where none could be read.
        truth: The right answer.
        cited: Rule id of the answer.
        rule: The rule that decides; None for questions that no rule covers, where nothing is to be cited.
    """
    value_right = answer == truth
    cited_right = cited == rule
    rho = Fraction(int(value_right))
    if answer is not None and (answer.kind, answer.currency) == (truth.kind, truth.currency):
        rho = _rho(answer, truth)
    parts = {"rho": float(rho), "value": float(value_right), "rule": float(cited_right)}
    return TaskScore(float(2 * rho - 1), value_right and cited_right, parts)


def _rho(answer: PolicyAnswer, truth: PolicyAnswer) -> Fraction:
    given, wanted = answer.value, truth.value
    if given is None or wanted is None or isinstance(given, bool) or isinstance(wanted, bool):
        return Fraction(int(given == wanted))
    return closeness(given, wanted)
