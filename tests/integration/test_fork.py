"""Forking while other threads search: children must be able to go on with the release they inherited."""

import os
import signal
import threading
import time

from places import SAMPLE_RELEASE

from shopsim_env import load_release


def test_a_child_forked_beside_busy_threads_searches_on() -> None:
    with load_release(SAMPLE_RELEASE) as release:
        expected = [hit.asin for hit in release.search("精华液", engine="fts5").hits]
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                release.search("温和修护精华液套装", engine="fts5")
                release.product(expected[0])
                release.tasks[next(iter(release.tasks))]

        threads = [threading.Thread(target=busy) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(15):
                time.sleep(0.005)
                assert child_status(release, expected) == 0
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def child_status(release: object, expected: list[str]) -> int:
    """Exit status of a forked child that searches once; a hanging one is killed by its own alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        found = [hit.asin for hit in release.search("精华液", engine="fts5").hits]  # type: ignore[attr-defined]
        same_product = release.product(expected[0]).asin == expected[0]  # type: ignore[attr-defined]
        os._exit(0 if found == expected and same_product else 1)
    return os.waitpid(child, 0)[1]
