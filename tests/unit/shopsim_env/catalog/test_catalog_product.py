"""Reading raw records into typed values."""

from decimal import Decimal

import pytest

from shopsim_env.catalog.product import Product, as_product, option_key, public_value, read_price


def record(**fields: object) -> dict[str, object]:
    return {"asin": "700000000021", "title": "营地灯", **fields}


@pytest.mark.parametrize(
    ("raw", "public"),
    [
        ("  灯/支架 XL ", "灯 | 支架 xl"),
        ("M/L", "m | l"),
        ("双肩包  BR-01", "双肩包 br-01"),
        ("", ""),
    ],
)
def test_public_value(raw: str, public: str) -> None:
    assert public_value(raw) == public


@pytest.mark.parametrize("raw", ["M/L", " 灯 / 支架 XL", "Ａ４纸", "[现货] 黑色"])
def test_raw_and_public_form_share_one_key(raw: str) -> None:
    assert option_key(raw) == option_key(public_value(raw))


@pytest.mark.parametrize(
    ("value", "price"),
    [
        (12, Decimal(12)),
        (12.5, Decimal("12.5")),
        ("12.50", Decimal("12.50")),
        (0, Decimal(0)),
        (-5, None),
        ("NaN", None),
        ("Infinity", None),
        ("1e400", None),
        ("1e-400", None),
        ("¥12", None),
        ("1,299", None),
        ("", None),
        (None, None),
        (True, None),
    ],
)
def test_a_price_is_a_plain_finite_number(value: object, price: Decimal | None) -> None:
    assert read_price(value) == price


@pytest.mark.parametrize(
    ("pricing", "listing", "shown"),
    [
        ([29.0], (Decimal("29.0"),), "29.0"),
        ([115, 1750], (Decimal(115), Decimal(1750)), "115.0 to 1750.0"),
        ([49, 49.0], (Decimal(49), Decimal("49.0")), "49.0"),
        ([None, 50], (), ""),
        ([], (), ""),
        (None, (), ""),
    ],
)
def test_listing_is_read_whole_or_not_at_all(
    pricing: object, listing: tuple[Decimal, ...], shown: str
) -> None:
    product = Product.from_record(record(pricing=pricing))
    assert product.listing == listing
    assert product.listing_text == shown


def test_missing_fields_are_empty_and_never_invented() -> None:
    product = Product.from_record(record())
    assert (product.brand, product.category, product.description) == ("", "", "")
    assert (product.attributes, product.axes, product.listing, product.bullets) == ((), (), (), ())
    assert product.title_nouns is None


def test_axes_keep_order_and_values() -> None:
    product = as_product(
        record(customization_options={"尺码": [{"value": "M/L", "price": 5}], "颜色": None, "套装": ["单灯"]})
    )
    assert [axis.name for axis in product.axes] == ["尺码", "颜色", "套装"]
    assert product.axes[0].values[0].public == "m | l"
    assert product.axes[0].values[0].price == Decimal(5)
    assert product.axes[2].values[0].price is None
    assert as_product(product) is product


def test_brand_falls_back_to_the_shop_and_bullets_to_the_subtitle() -> None:
    product = Product.from_record(record(shop_name="山野旗舰店", sub_title="防水 可充电"))
    assert product.brand == "山野旗舰店"
    assert product.bullets == ("防水 可充电",)
