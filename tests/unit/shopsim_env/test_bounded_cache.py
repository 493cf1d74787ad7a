"""The bound of caches."""

from shopsim_env.cache import BoundedCache


def test_remembers_and_forgets() -> None:
    cache: BoundedCache[int, str] = BoundedCache(10)
    assert cache.get(1) is None
    cache.put(1, "one")
    assert cache.get(1) == "one"
    cache.clear()
    assert (cache.get(1), len(cache)) == (None, 0)


def test_never_holds_more_than_its_capacity() -> None:
    cache: BoundedCache[int, int] = BoundedCache(10)
    for number in range(1_000):
        cache.put(number, number)
        assert len(cache) <= 10
        assert cache.get(number) == number


def test_what_is_used_stays() -> None:
    cache: BoundedCache[int, str] = BoundedCache(10)
    cache.put(-1, "used")
    for number in range(1_000):
        cache.put(number, "new")
        assert cache.get(-1) == "used"
    assert cache.get(0) is None


def test_a_capacity_of_zero_keeps_nothing() -> None:
    cache: BoundedCache[int, int] = BoundedCache(0)
    cache.put(1, 1)
    assert cache.get(1) is None


def test_putting_a_kept_key_again_drops_nothing() -> None:
    cache: BoundedCache[int, int] = BoundedCache(4)
    for _ in range(10):
        cache.put(1, 1)
        cache.put(2, 2)
    assert len(cache) == 2
