"""The word lists: complete, and free of words that would make a task ambiguous by accident."""

from pipelines.stages.sample.vocabulary import load_vocabulary

KINDS = [kind for domain in load_vocabulary().domains for kind in domain.kinds]
EXTRA_AXES = ("套餐类型", "组合形式", "规格描述")


def test_nine_domains_with_at_least_eight_kinds_each():
    domains = load_vocabulary().domains
    assert len(domains) == 9
    assert all(len(domain.kinds) >= 8 for domain in domains)
    assert len({kind.noun for kind in KINDS}) == len(KINDS)


def test_categories_have_two_to_four_levels():
    assert all(2 <= len(kind.category.split("›")) <= 4 for kind in KINDS)


def test_no_value_stands_on_two_axes_of_one_product():
    axes = load_vocabulary().axes
    for kind in KINDS:
        main = {*kind.first, *kind.variants}
        others = [kind.second, *(axes[name] for name in EXTRA_AXES)]
        for other in others:
            assert not main & set(other.values), (kind.noun, other.name, main & set(other.values))


def test_words_of_a_kind_are_different():
    for kind in KINDS:
        words = [*kind.traits, *kind.scenes, *kind.people, *kind.stuff]
        assert len(set(words)) == len(words), kind.noun
        for values in (kind.first, kind.variants, kind.second.values):
            assert len(set(values)) == len(values), kind.noun


def test_axis_lists_hold_at_least_two_values():
    assert all(len(axis.values) >= 2 for axis in load_vocabulary().axes.values())
    assert all(len(kind.first) >= 2 and len(kind.variants) >= 2 for kind in KINDS)
