"""What the customer says of returns, in Chinese and English: requests, reasons and methods by their codes.

Belongs here: the words alone. What is said when is in `returns`.
"""

from typing import Final

RETURN_WORDS: Final = {
    "zh": {
        "return": "我想退掉之前买的一件商品，如果按规定不能退，请告诉我原因。商品的品类：{category}",
        "any return": "我想退掉之前买的一件商品，退货原因和方式都不限；如果按规定不能退，请告诉我为什么。"
        "商品的品类：{category}",
        "exchange": "我想把之前买的一件商品换成同品类的另一款，如果按规定不能退换，请告诉我原因。"
        "商品的品类：{category}",
        "reason": "退货原因是{}",
        "method": "退货方式是{}",
        "new": "换成的商品：",
        "defective": "商品有质量问题",
        "wrong_item": "发错了货",
        "not_as_described": "与描述不符",
        "changed_mind": "不想要了",
        "too_large": "太大了",
        "too_small": "太小了",
        "arrived_late": "送到得太晚",
        "better_price_found": "在别处看到更低的价格",
        "mail": "邮寄",
        "in_store": "到店退",
        "pickup": "上门取件",
    },
    "en": {
        "return": "I want to return something that I bought; if the rules do not allow it, tell me why. "
        "Category of the product: {category}",
        "any return": "I want to return something that I bought, any reason code and any method will do; "
        "if the rules do not allow it, tell me why. Category of the product: {category}",
        "exchange": "I want to exchange something that I bought for another product of the same category; "
        "if the rules do not allow it, tell me why. Category of the product: {category}",
        "reason": "the reason for the return: {}",
        "method": "the way of returning it: {}",
        "new": "the new product: ",
        "defective": "it is defective",
        "wrong_item": "I got the wrong item",
        "not_as_described": "it is not as described",
        "changed_mind": "I changed my mind",
        "too_large": "it is too large",
        "too_small": "it is too small",
        "arrived_late": "it arrived late",
        "better_price_found": "I found a better price",
        "mail": "by mail",
        "in_store": "in the store",
        "pickup": "pickup at home",
    },
}
