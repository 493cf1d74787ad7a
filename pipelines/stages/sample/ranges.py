"""Where persona and standard tasks stand in the archive; sizes of the published one."""

from dataclasses import dataclass

# Index ranges of the published archive: persona tasks first in the evaluation part, then again first in the
# training part.
PUBLISHED_PRODUCTS = 23_421
_PERSONA_EVAL_END = 1343
_EVAL_END = 1459
_PERSONA_TRAIN_END = 4782
EXCLUDED_PRODUCTS = 695


@dataclass(frozen=True, slots=True)
class Ranges:
    """Half-open index ranges: persona products, then standard ones, in both parts of the archive."""

    persona_eval: range
    standard_eval: range
    persona_train: range
    standard_train: range

    def has_persona(self, index: int) -> bool:
        """Whether the product at `index` carries a persona."""
        return index in self.persona_eval or index in self.persona_train


def index_ranges(products: int) -> Ranges:
    """The published index ranges scaled to `products`; exact for 23,421."""
    cuts = [
        round(products * cut / PUBLISHED_PRODUCTS)
        for cut in (_PERSONA_EVAL_END, _EVAL_END, _PERSONA_TRAIN_END)
    ]
    return Ranges(
        range(0, cuts[0]), range(cuts[0], cuts[1]), range(cuts[1], cuts[2]), range(cuts[2], products)
    )
