import pytest
from shop_world import shop_release


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("shop"))
    yield small
    small.close()
