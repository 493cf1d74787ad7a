"""The customer's sentences in Chinese and English, and how facts are put into them.

Belongs here: wordings by occasion and their filling. Every wording of an occasion has exactly the gaps in
`GAPS`, and none holds a digit, so those of a message come from facts. What is said when is
decided in `customer`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from shopsim_env.rlve.customer.noise import Piece, cut
from shopsim_env.rlve.draws import Draws

GAPS: Final[Mapping[str, frozenset[str]]] = {
    "open": frozenset({"request"}),
    "introduce": frozenset({"request"}),
    "remind": frozenset({"request"}),
    "needs": frozenset({"needs"}),
    "left": frozenset({"count"}),
    "tell": frozenset({"needs"}),
    "repeat": frozenset({"needs"}),
    "switch": frozenset({"old", "new"}),
    "nothing": frozenset({"topic"}),
    "no_more": frozenset(),
    "unclear": frozenset(),
    "continue": frozenset(),
    "quit": frozenset(),
}
"""Occasion -> the gaps that each of its wordings has."""

WORDINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "zh": {
        "open": (
            "你好，{request}",
            "您好，{request}",
            "在吗？{request}",
            "哈喽，{request}",
            "打扰一下，{request}",
            "嗨，{request}",
            "客服你好，{request}",
            "麻烦帮个忙，{request}",
            "亲，{request}",
            "想请你帮个忙，{request}",
        ),
        "introduce": (
            "对了，还有一件事，{request}",
            "另外还想麻烦你，{request}",
            "顺便再问一件事，{request}",
            "还有，{request}",
            "再帮我看一件事，{request}",
            "接下来，{request}",
        ),
        "remind": (
            "回到刚才那件事，{request}",
            "刚才那件事还没完，{request}",
            "我们接着说前面的，{request}",
            "前面那件事还要办，{request}",
        ),
        "needs": (
            "我的要求：{needs}。",
            "具体是这样：{needs}。",
            "说一下情况：{needs}。",
            "要求如下：{needs}。",
            "需要注意的是：{needs}。",
            "先说说条件：{needs}。",
            "这几点请记下：{needs}。",
            "情况是：{needs}。",
        ),
        "left": (
            "另外还有{count}个要求没说，可以问我。",
            "还有{count}点没说，你问我就行。",
            "我还有{count}个要求，问我就告诉你。",
            "剩下{count}点要求，需要的话问我。",
            "还有{count}个要求先不说，你可以问。",
            "别的还有{count}点，问了我再说。",
            "还差{count}个要求没讲，记得问我。",
            "除此之外还有{count}点，等你来问。",
        ),
        "tell": (
            "{needs}。",
            "嗯，{needs}。",
            "这个啊，{needs}。",
            "是这样，{needs}。",
            "好的，{needs}。",
            "我想想，{needs}。",
            "对，有要求：{needs}。",
            "这么说吧，{needs}。",
        ),
        "repeat": (
            "前面说过了，{needs}。",
            "这个我提过：{needs}。",
            "还是那句话，{needs}。",
            "再说一遍：{needs}。",
            "和之前说的一样，{needs}。",
            "刚才讲过了：{needs}。",
        ),
        "switch": (
            "等等，我改主意了：原来说的“{old}”不算了，现在改成：{new}。",
            "不好意思，我想改一下：“{old}”这条作废，换成：{new}。",
            "我重新想了想，之前的“{old}”不要了，改为：{new}。",
            "有个变化：不再是“{old}”，而是：{new}。",
            "对了，“{old}”这条请换成：{new}。",
            "刚才那条“{old}”取消，以这条为准：{new}。",
        ),
        "nothing": (
            "{topic}我没有别的要求。",
            "{topic}方面没有要说的。",
            "关于{topic}，我没什么要求。",
            "{topic}没有特别的要求。",
        ),
        "no_more": (
            "没有别的要求了，都说过了。",
            "我的要求都说完了。",
            "没有要补充的了。",
            "就这些，没有别的了。",
            "该说的都说了。",
            "没别的了，就按我说的来。",
        ),
        "unclear": (
            "这个你来定，按我说的要求就行。",
            "这个我说不好，照我的要求办就可以。",
            "你看着办，符合我说的就行。",
            "这方面你比我懂，按我的要求来吧。",
            "具体你处理，满足我的要求就好。",
            "我不太清楚，你按要求来就行。",
        ),
        "continue": (
            "好的，请继续。",
            "嗯，你接着来。",
            "行，我等你的结果。",
            "好，继续吧。",
            "嗯嗯，辛苦了。",
            "知道了，麻烦你继续。",
            "好的，我等着。",
            "收到，请接着处理。",
        ),
        "quit": (
            "算了，我不想再等了，就到这里吧。",
            "这样下去没有意义，我走了。",
            "总是不对，我不继续了。",
            "不用了，我找别人帮忙。",
            "我没耐心了，再见。",
            "算了算了，不麻烦你了。",
        ),
    },
    "en": {
        "open": (
            "Hi! {request}",
            "Hello. {request}",
            "Hey there. {request}",
            "Good day. {request}",
            "Hi, could you help me with something? {request}",
            "Hello, I could use some help. {request}",
            "Hey, quick request. {request}",
            "Hi there, hope you can help. {request}",
            "Hello, here is what I'm after. {request}",
            "Hi, got a moment? {request}",
        ),
        "introduce": (
            "By the way, there is something else. {request}",
            "Also, I'd like help with another thing. {request}",
            "Oh, and one other thing. {request}",
            "On another note: {request}",
            "While you're at it: {request}",
            "Next, please help me with this. {request}",
        ),
        "remind": (
            "Back to the earlier thing. {request}",
            "The earlier request is still open. {request}",
            "Let's go on with what I asked before. {request}",
            "Now please finish the other thing. {request}",
        ),
        "needs": (
            "Here is what matters: {needs}.",
            "The details: {needs}.",
            "What I can tell you: {needs}.",
            "To be precise: {needs}.",
            "The particulars: {needs}.",
            "Please keep in mind: {needs}.",
            "This is the situation: {needs}.",
            "What you should know: {needs}.",
        ),
        "left": (
            "There is more I haven't mentioned, {count} to be exact; just ask.",
            "I left out {count}; feel free to ask.",
            "Ask me about the rest: {count}.",
            "I still have {count} to share if you ask.",
            "On top of that I have {count}, so do ask me.",
            "I haven't told you {count} yet. You can ask me.",
            "You will need {count} from me; ask away.",
            "That leaves {count}; ask whenever you like.",
        ),
        "tell": (
            "Sure: {needs}.",
            "Well, {needs}.",
            "Good question: {needs}.",
            "Let me see: {needs}.",
            "Okay, so: {needs}.",
            "Yes, here you go: {needs}.",
            "That would be: {needs}.",
            "Right: {needs}.",
        ),
        "repeat": (
            "As I said: {needs}.",
            "I mentioned that already: {needs}.",
            "Same as before: {needs}.",
            "Once more: {needs}.",
            "Like I told you: {needs}.",
            "To repeat myself: {needs}.",
        ),
        "switch": (
            'Wait, I changed my mind. Forget "{old}"; now it is: {new}.',
            'Sorry, a change of plan. Instead of "{old}" it should be: {new}.',
            'On second thought, drop "{old}" and take this: {new}.',
            'Something changed: no longer "{old}" but: {new}.',
            'Actually, please replace "{old}" with: {new}.',
            'Let me correct myself. Not "{old}" any more; what counts is: {new}.',
        ),
        "nothing": (
            "I have no other wishes about {topic}.",
            "Nothing more to say about {topic}.",
            "As for {topic}, I have no special wishes.",
            "I don't mind about {topic} beyond what I said.",
        ),
        "no_more": (
            "No, that's all.",
            "Nothing else, you know it all.",
            "That was everything.",
            "No more requirements from me.",
            "I have nothing to add.",
            "That's the whole list.",
        ),
        "unclear": (
            "That's up to you, as long as it is what I asked for.",
            "I can't say; just go by what I told you.",
            "You decide, please stick to what I said.",
            "No idea, just follow my request.",
            "I leave that to you, within what I asked for.",
            "Hard to say. Whatever fits my request.",
        ),
        "continue": (
            "Okay, please go on.",
            "Alright, I'm waiting for the result.",
            "Fine, carry on.",
            "Sure, take your time.",
            "Okay, let me know.",
            "Got it, please continue.",
            "Right, go ahead.",
            "Okay, I'll wait.",
        ),
        "quit": (
            "Never mind, I'm done waiting.",
            "This isn't working. I'm leaving.",
            "It keeps going wrong, I give up.",
            "Forget it, I'll ask someone else.",
            "I've run out of patience. Goodbye.",
            "That's enough, let's stop here.",
        ),
    },
}
JOINT: Final = {"zh": "，", "en": "; "}
"""Between two needs."""
SPACE: Final = {"zh": "", "en": " "}
"""Between two sentences."""

_GAP: Final = re.compile(r"\{([a-z]+)\}")
# A wording as texts and gaps by turns, a text first.
_PARTS: Final = {
    language: {
        occasion: tuple(tuple(_GAP.split(wording)) for wording in wordings)
        for occasion, wordings in table.items()
    }
    for language, table in WORDINGS.items()
}
_ENDS: Final = tuple("。！？!?.…")
_HAN_DIGITS: Final = "零一二三四五六七八九"
_ENGLISH_NUMBERS: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]


def fill(language: str, occasion: str, draws: Draws, **gaps: Sequence[Piece]) -> list[Piece]:
    """One wording of an occasion, drawn, with its gaps filled."""
    parts = draws.pick(_PARTS[language][occasion])
    pieces: list[Piece] = []
    for place, part in enumerate(parts):
        if place % 2:
            pieces += gaps[part]
        elif part:
            pieces.append((part, False))
    return pieces


def listed(language: str, values: Sequence[str]) -> list[Piece]:
    """Values one after the other, kept as they are."""
    pieces: list[Piece] = []
    for value in values:
        pieces += [(JOINT[language], True), (value, True)]
    return pieces[1:]


def sentence(language: str, text: str, kept: Sequence[str]) -> list[Piece]:
    """A text that ends as a sentence does; `kept` texts in it are kept."""
    pieces = cut(text, kept)
    if not text.endswith(_ENDS):
        pieces.append(("。" if language == "zh" else ".", True))
    return pieces


def count_words(language: str, count: int) -> str:
    """How many facts, in words, so that the number is never taken for a fact: `两`, `one more detail`.

    Args:
        language: `zh` or `en`.
        count: 1 to 99.
    """
    if language == "en":
        number = _ENGLISH_NUMBERS[count] if count < len(_ENGLISH_NUMBERS) else str(count)
        return f"{number} more detail" if count == 1 else f"{number} more details"
    tens, ones = divmod(count, 10)
    if not tens:
        return "两" if count == 2 else _HAN_DIGITS[count]
    return ("" if tens == 1 else _HAN_DIGITS[tens]) + "十" + (_HAN_DIGITS[ones] if ones else "")
