"""System prompts, versioned: a changed text is a new name.

Belongs here: the words that a model is told before the task, and how a persona is joined to them. What an
answer of a model may be is in `protocol`; pages are Chinese whatever the prompt is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import UsageError

LANGUAGES: Final = ("zh", "en")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt.

    Args:
        id: Name and version, such as `zh-v1`; it stands in every trace.
        language: `zh` or `en`: of the messages about broken answers as well.
        text: What the model is told.
        shopper_text: Added in multi-turn mode, where a shopper can be asked.
        persona_title: Line above the persona.

    Raises:
        UsageError: another language, or an empty name or text.
    """

    id: str
    language: str
    text: str
    shopper_text: str = ""
    persona_title: str = "用户画像 / customer profile (JSON):"

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise UsageError(f"prompt.language: expected one of {list(LANGUAGES)}, found {self.language!r}")
        for name in ("id", "text"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise UsageError(f"prompt.{name}: expected text, found none")

    @property
    def sha256(self) -> str:
        """Hex SHA-256 of everything in it: equal for prompts that say the same."""
        return sha256_text(compact_json([self.language, self.text, self.shopper_text, self.persona_title]))

    def system_message(self, persona: Mapping[str, Any], interaction_mode: str) -> dict[str, str]:
        """The system message of a task; a persona is JSON with sorted keys, an empty one is left out."""
        blocks = [self.text]
        if interaction_mode == "multi_turn" and self.shopper_text:
            blocks.append(self.shopper_text)
        if persona:
            shown = json.dumps(persona, ensure_ascii=False, sort_keys=True, indent=1)
            blocks.append(f"{self.persona_title}\n{shown}")
        return {"role": "system", "content": "\n\n".join(blocks)}


PROMPTS: Final[Mapping[str, Prompt]] = {
    "zh-v1": Prompt(
        id="zh-v1",
        language="zh",
        text=(
            "你是一名网购助手，在一个商店里替用户找到并买下最合适的商品。\n"
            "规则：\n"
            "1. 每一轮只调用一个工具，调用一次；需要思考时先在思考中完成，再调用。\n"
            "2. 只依据最新页面行动：可用的工具和可点击的元素每一轮都会变化，以前页面上的元素可能已经失效。\n"
            "3. 点击时，参数必须与页面列出的可点击元素逐字一致。\n"
            "4. 打开商品后，先按用户的要求为每一个规格轴选好取值，全部选完才会出现 buy now。\n"
            "5. 用户没有说明的规格，选择与其需求、画像和预算最相符的取值。\n"
            "6. 总价不得超过用户给出的预算；不合适就返回，换一个商品或换一组关键词再搜索。\n"
            "7. 动作次数有限，最终必须购买一件商品；点击 buy now 即成交，任务随之结束。"
        ),
        shopper_text=(
            "用户一开始说得比较笼统。可以用 ask_shopper 向用户提问，每次问一件事，"
            "例如款式、规格、品牌或预算；提问也算一次动作。"
        ),
        persona_title="用户画像（JSON）：",
    ),
    "en-v1": Prompt(
        id="en-v1",
        language="en",
        text=(
            "You are a shopping assistant. In an online shop, find the product that fits the customer best "
            "and buy it.\n"
            "Rules:\n"
            "1. Call exactly one tool, once, in every turn. Do your thinking before the call.\n"
            "2. Act on the latest page only: tools and clickable elements change from turn to turn, and "
            "those of earlier pages may be gone.\n"
            "3. When you click, give one of the listed elements character for character.\n"
            "4. On a product page, choose a value on every option axis as the customer wants it; buy now "
            "appears when all of them are chosen.\n"
            "5. Where the customer named no value, choose the one that fits the request, the profile and "
            "the budget best.\n"
            "6. Stay within the customer's budget. If a product does not fit, go back and take another one, "
            "or search with other words.\n"
            "7. The number of actions is limited, and in the end one product must be bought: buy now closes "
            "the deal and ends the task.\n"
            "Pages, requests and products are in Chinese; search in Chinese."
        ),
        shopper_text=(
            "The customer's first words are vague. You may ask with ask_shopper, one thing at a time, for "
            "example about style, options, brand or budget. A question counts as an action too."
        ),
        persona_title="Customer profile (JSON):",
    ),
}


def prompt_of(prompt: "str | Prompt", known: Mapping[str, Prompt] = PROMPTS) -> Prompt:
    """The prompt with this name among the known ones, or the given one.

    Raises:
        UsageError: an unknown name (code `unknown_prompt`).
    """
    if isinstance(prompt, Prompt):
        return prompt
    if prompt not in known:
        raise UsageError(
            f"prompt: expected one of {sorted(known)} or a Prompt, found {prompt!r}", code="unknown_prompt"
        )
    return known[prompt]
