"""Clauses of the task texts: how a shopper says a tag, an option or a measure word.

Each word class has its own forms, so that any choice of words reads as Chinese; `instructions` joins them.
"""

import random
from collections.abc import Sequence

from pipelines.stages.sample.goods import Tag
from pipelines.stages.sample.options import AxisDraft
from pipelines.stages.sample.vocabulary import Kind

# Traits that read well straight before the noun; the others end in a predicate and keep their 的.
_PREDICATES = tuple("稳好快久齐强多高细大亮柔够足爽长心软吃少低小")
_SAYS = {
    "colour": ("颜色要{v}", "颜色选{v}", "要{v}这个颜色", "颜色想要{v}"),
    "variant": ("要{v}的", "选{v}", "想要{v}的"),
    "pack": ("要{v}的", "选{v}", "想要{v}的"),
    "net": ("规格要{v}", "要{v}的", "规格选{v}"),
    "spec": ("规格要{v}", "要{v}的", "规格选{v}"),
    "flavour": ("口味要{v}", "口味选{v}", "想要{v}口味"),
    "scent": ("香味要{v}", "想要{v}香味", "香味选{v}"),
    "pattern": ("款式要{v}", "选{v}这款", "想要{v}的款式"),
    "book": ("要《{v}》这本", "书名是《{v}》"),
    "model": ("型号要{v}", "型号选{v}"),
    "letter": ("尺码{v}", "要{v}码", "平时穿{v}码"),
    "shoe": ("鞋码{v}", "穿{v}码的鞋"),
    "waist": ("尺码{v}", "裤子穿{v}码"),
    "ring": ("圈口选{v}", "圈口要{v}"),
    "height": ("参考身高{v}", "孩子身高{v}左右"),
    "stuff": ("材质要{v}", "材质选{v}"),
}
# Traits that name a version of the goods: only said when the wanted option is that version.
_VERSION_TRAITS = (
    "加绒",
    "加厚",
    "加长",
    "加大",
    "加宽",
    "薄款",
    "短款",
    "九分",
    "大容量",
    "小容量",
    "带盖",
    "双层",
)
# Axes whose name a shopper would say.
_NAMED_AXES = (
    "高度",
    "直径",
    "长度",
    "钓竿长度",
    "刀身长度",
    "手链长度",
    "功率",
    "电压",
    "容量",
    "净含量",
    "总净含量",
    "重量",
    "电池容量",
    "镜片折射率",
    "适用床垫尺寸",
    "床垫尺寸",
)


def fitting_tags(tags: Sequence[Tag], axes: Sequence[AxisDraft]) -> list[Tag]:
    """Tags without those that the wanted options contradict."""
    wanted = "".join(axis.target.raw for axis in axes)
    return [tag for tag in tags if tag.text not in _VERSION_TRAITS or tag.text in wanted]


def measure_word(kind: Kind, axes: Sequence[AxisDraft]) -> str:
    """Measure word: the usual one, but 款 where a pack of several is wanted."""
    classes = [name.partition(":")[0] for axis in axes for name, _ in axis.target.says]
    return "款" if {"pack", "net"} & set(classes) else kind.unit


def option_phrases(axes: Sequence[AxisDraft]) -> list[str]:
    """How the wanted options are said, for search keywords."""
    return [text for axis in axes for _, text in axis.target.says]


def modifier(rng: random.Random, kind: Kind, tags: Sequence[Tag]) -> str:
    """Words before the noun: `防滑的`, `客厅用的`, `适合学生穿的防滑`; one for whom or where, one how."""
    whom = [tag.text for tag in tags if tag.kind in ("scene", "people")][:1]
    how = [tag for tag in tags if tag.kind not in ("scene", "people")][:1]
    parts = [f"{'适合' if rng.random() < 0.6 else ''}{text}{kind.use}的" for text in whom]
    for tag in how:
        word = _stuff(kind, tag.text) if tag.kind == "stuff" else f"{tag.text}的"
        attached = tag.kind == "trait" and _stands_alone(kind, tag.text)
        parts.append(tag.text if attached and (whom or rng.random() < 0.3) else word)
    return "".join(parts)


def _stands_alone(kind: Kind, trait: str) -> bool:
    """Whether a trait reads well without 的: short, no predicate, no word of the noun (可折叠 + 折叠屏风)."""
    return len(trait) <= 4 and not trait.endswith(_PREDICATES) and trait[-2:] not in kind.noun


def _stuff(kind: Kind, word: str) -> str:
    return f"含{word}的" if kind.stuff_class == "ingredient" else f"{word}的"


def tag_clauses(rng: random.Random, kind: Kind, tags: Sequence[Tag]) -> list[str]:
    """Clauses that name `tags`: traits in pairs, places and people together, in random order."""
    traits = [tag.text for tag in tags if tag.kind == "trait"]
    clauses = [_trait_clause(rng, traits[place : place + 2]) for place in range(0, len(traits), 2)]
    scenes = "、".join(tag.text for tag in tags if tag.kind == "scene")
    names = [tag.text for tag in tags if tag.kind == "people"]
    people = "和".join(filter(None, ("、".join(names[:-1]), *names[-1:])))
    if scenes:
        clauses.append(rng.choice(("主要{s}{u}", "适合{s}{u}", "打算{s}{u}")).format(s=scenes, u=kind.use))
    if people:
        clauses.append(rng.choice(("适合{p}", "适合{p}{u}", "是给{p}{u}的")).format(p=people, u=kind.use))
    for tag in tags:
        if tag.kind == "stuff":
            clauses.append(_stuff_clause(rng, kind, tag.text))
        elif tag.kind == "brand":
            clauses.append(rng.choice(("要{b}家的", "最好是{b}的", "牌子要{b}")).format(b=tag.text))
    rng.shuffle(clauses)
    return clauses


def _trait_clause(rng: random.Random, traits: Sequence[str]) -> str:
    if len(traits) == 1:
        return rng.choice(("要{0}的", "最好是{0}的", "希望是{0}的", "{0}的那种")).format(*traits)
    forms = ("要{0}、{1}的", "最好{0}又{1}", "希望是{0}、{1}的", "要{0}，还要{1}", "既要{0}也要{1}")
    return rng.choice(forms).format(*traits)


def _stuff_clause(rng: random.Random, kind: Kind, word: str) -> str:
    forms = {
        "ingredient": ("含{0}的", "成分里要有{0}", "最好含{0}"),
        "fabric": ("{0}面料的", "面料要{0}", "面料最好是{0}"),
    }
    return rng.choice(forms.get(kind.stuff_class, ("要{0}的", "最好是{0}的", "{0}的优先"))).format(word)


def option_clauses(rng: random.Random, axes: Sequence[AxisDraft]) -> list[str]:
    """One clause per part of every wanted option."""
    clauses = []
    for axis in axes:
        value = axis.target
        if not value.goods:
            clauses.append(f"规格选“{value.raw}”那一项")
        clauses += [_say(rng, value_class, text) for value_class, text in value.says]
    return clauses


def _say(rng: random.Random, value_class: str, text: str) -> str:
    name, _, axis = value_class.partition(":")
    if axis in _NAMED_AXES:
        return rng.choice((f"{axis}要{{v}}", f"{axis}选{{v}}")).format(v=text)
    if name == "dim":
        return rng.choice(("尺寸{v}", "尺寸要{v}", "大小选{v}")).format(v=text)
    return rng.choice(_SAYS[name]).format(v=text)
