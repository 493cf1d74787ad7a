"""Words of the attribute families, in Chinese and English, and which families a category has.

Data only; how a text is read with it is in `rlve_families`. The order of families is that of their numbers in
a release; the order within a category is the priority for variants.
"""

# Family -> (Chinese name, English name).
NAMES: dict[str, tuple[str, str]] = {
    "connector_type": ("接口", "connector"),
    "size": ("尺码", "size"),
    "shoe_size": ("鞋码", "shoe size"),
    "color": ("颜色", "color"),
    "material": ("材质", "material"),
    "flavor": ("口味", "flavor"),
    "scent": ("香味", "scent"),
    "item_form": ("形态", "form"),
    "skin_type": ("肤质", "skin type"),
    "finish_type": ("表面工艺", "finish"),
    "edition": ("版本", "edition"),
    "wattage": ("功率", "wattage"),
    "net_weight": ("净重", "net weight"),
    "volume": ("容量", "volume"),
    "screen_size": ("屏幕尺寸", "screen size"),
    "battery": ("电池容量", "battery capacity"),
}

# Family -> rows of "name / Chinese / English / spellings", the spellings with blanks for `_`.
WORDS: dict[str, str] = {
    "connector_type": """
usb_c / USB-C / USB-C / usb-c type-c typec usb_c
lightning / Lightning / Lightning / lightning
micro_usb / Micro-USB / Micro-USB / micro-usb micro_usb microusb 安卓口
usb_a / USB-A / USB-A / usb-a usb_a usb3.0 usb2.0 usb口
hdmi / HDMI / HDMI / hdmi
displayport / DP / DisplayPort / displayport dp口 dp接口
jack_3_5 / 3.5mm / 3.5 mm jack / 3.5mm 3.5_mm
bluetooth / 蓝牙 / Bluetooth / 蓝牙 bluetooth
wireless / 无线 / wireless / 无线 2.4g wireless
wired / 有线 / wired / 有线 wired
""",
    "size": """
xs / XS / XS / xs
s / S / S / s small
m / M / M / m medium
l / L / L / l large
xl / XL / XL / xl x-large
xxl / XXL / XXL / xxl 2xl xx-large
xxxl / XXXL / XXXL / xxxl 3xl
free / 均码 / one size / 均码 one_size
""",
    "shoe_size": "\n".join(f"{size} / {size}码 / EU {size} / {size} {size}码" for size in range(34, 47)),
    "color": """
black / 黑色 / black / 黑色 纯黑 哑黑 曜石黑 black
white / 白色 / white / 白色 纯白 珍珠白 象牙白 white
gray / 灰色 / gray / 灰色 深灰 浅灰 高级灰 gray grey
red / 红色 / red / 红色 酒红 大红 枣红 red
blue / 蓝色 / blue / 蓝色 深蓝 浅蓝 天蓝 雾蓝 藏青 blue navy
green / 绿色 / green / 绿色 墨绿 雪松绿 军绿 green
yellow / 黄色 / yellow / 黄色 荧光黄 鹅黄 yellow
pink / 粉色 / pink / 粉色 粉红 pink
purple / 紫色 / purple / 紫色 香芋紫 purple
brown / 棕色 / brown / 棕色 褐色 咖色 咖啡色 焦糖色 brown
orange / 橙色 / orange / 橙色 橘色 orange
beige / 米色 / beige / 米色 米白 杏色 卡其 卡其色 沙色 beige khaki
gold / 金色 / gold / 金色 香槟金 golden
silver / 银色 / silver / 银色 银灰 silvery
transparent / 透明 / clear / 透明 transparent
multicolor / 彩色 / multicolor / 彩色 多色 multicolor
""",
    "material": """
stainless_steel / 不锈钢 / stainless steel / 不锈钢 stainless_steel
cast_iron / 铸铁 / cast iron / 铸铁 cast_iron
aluminum / 铝合金 / aluminum / 铝合金 aluminum aluminium
titanium / 钛 / titanium / 纯钛 钛合金 titanium
gold / 足金 / gold / 足金 黄金 18k金 solid_gold
silver / 纯银 / silver / 纯银 足银 s925 sterling_silver
wood / 木 / wood / 实木 原木 木质 胡桃木 橡木 wood wooden
bamboo / 竹 / bamboo / 竹制 竹木 竹编 bamboo
plastic / 塑料 / plastic / 塑料 树脂 abs plastic
glass / 玻璃 / glass / 玻璃 glass
ceramic / 陶瓷 / ceramic / 陶瓷 ceramic
silicone / 硅胶 / silicone / 硅胶 silicone
rubber / 橡胶 / rubber / 橡胶 牛筋底 rubber
latex / 乳胶 / latex / 乳胶 latex
leather / 皮革 / leather / 牛皮 真皮 皮革 羊皮 leather
cotton / 棉 / cotton / 纯棉 全棉 新疆棉 cotton
linen / 亚麻 / linen / 亚麻 棉麻 linen
silk / 真丝 / silk / 真丝 桑蚕丝 silk
wool / 羊毛 / wool / 羊毛 羊绒 wool cashmere
velvet / 绒面 / velvet / 丝绒 水晶绒 天鹅绒 羊羔绒 velvet
polyester / 涤纶 / polyester / 涤纶 聚酯纤维 polyester
nylon / 尼龙 / nylon / 尼龙 锦纶 nylon
carbon / 碳纤维 / carbon fiber / 碳纤维 碳素 carbon_fiber
fiberglass / 玻璃钢 / fiberglass / 玻璃钢 玻璃纤维 fiberglass
""",
    "flavor": """
original / 原味 / original / 原味 original
spicy / 辣味 / spicy / 香辣 麻辣 微辣 辣味 spicy
chocolate / 巧克力味 / chocolate / 巧克力 chocolate
strawberry / 草莓味 / strawberry / 草莓 strawberry
lemon / 柠檬味 / lemon / 柠檬 lemon
peach / 蜜桃味 / peach / 蜜桃 白桃 peach
mango / 芒果味 / mango / 芒果 mango
matcha / 抹茶味 / matcha / 抹茶 matcha
milk / 牛奶味 / milk / 牛奶 奶香 milk
honey / 蜂蜜味 / honey / 蜂蜜 honey
coconut / 椰子味 / coconut / 椰子 椰香 生椰 coconut
salt_pepper / 椒盐味 / salt and pepper / 椒盐 salt_and_pepper
five_spice / 五香味 / five spice / 五香 five_spice
chicken / 鸡肉味 / chicken / 鸡肉 chicken
beef / 牛肉味 / beef / 牛肉 beef
fish / 鱼肉味 / fish / 鱼肉 三文鱼 鳕鱼 fish salmon
""",
    "scent": """
lavender / 薰衣草香 / lavender / 薰衣草 lavender
rose / 玫瑰香 / rose / 玫瑰 rose
citrus / 柑橘香 / citrus / 柑橘 甜橙 citrus
sandalwood / 檀香 / sandalwood / 檀香 檀木 sandalwood
jasmine / 茉莉香 / jasmine / 茉莉 jasmine
vanilla / 香草香 / vanilla / 香草 vanilla
cedar / 雪松香 / cedar / 雪松 cedar
osmanthus / 桂花香 / osmanthus / 桂花 osmanthus
mint / 薄荷香 / mint / 薄荷 mint
unscented / 无香 / unscented / 无香 unscented fragrance_free
""",
    "item_form": """
liquid / 液体 / liquid / 液体 液态 水剂 liquid
cream / 霜 / cream / 面霜 乳霜 膏霜 护手霜 cream
gel / 凝胶 / gel / 凝胶 啫喱 gel
powder / 粉末 / powder / 粉末 粉状 散粉 powder
spray / 喷雾 / spray / 喷雾 spray
stick / 棒状 / stick / 棒状 固体 stick
oil / 油 / oil / 精油 护发油 oil
bar / 块状 / bar / 块状 皂 bar
capsule / 胶囊 / capsule / 胶囊 capsule capsules
tablet / 片剂 / tablet / 片剂 泡腾片 tablet tablets
""",
    "skin_type": """
oily / 油性 / oily / 油皮 油性 oily
dry / 干性 / dry / 干皮 干性 dry_skin
combination / 混合性 / combination / 混合性 混油 混干 combination
sensitive / 敏感性 / sensitive / 敏感肌 敏感皮 sensitive
all / 所有肤质 / all skin types / 所有肤质 任何肤质 all_skin_types
""",
    "finish_type": """
matte / 哑光 / matte / 哑光 磨砂 雾面 matte
glossy / 亮面 / glossy / 亮面 高光 镜面 水光 glossy
satin / 缎面 / satin / 缎面 satin
brushed / 拉丝 / brushed / 拉丝 brushed
metallic / 金属质感 / metallic / 金属质感 电镀 metallic
""",
    "edition": """
hardcover / 精装 / hardcover / 精装 hardcover
paperback / 平装 / paperback / 平装 paperback
boxed / 盒装 / boxed set / 盒装 套装 boxed_set
""",
}

# Family -> (unit in Chinese, in English, values for variants in thousandths, spelling -> thousandths).
NUMBERS: dict[str, tuple[str, str, tuple[int, ...], dict[str, int]]] = {
    "wattage": (
        *("瓦", "W"),
        tuple(1000 * watts for watts in (5, 10, 18, 20, 30, 45, 65, 100)),
        {"kw": 1_000_000, "千瓦": 1_000_000, "w": 1000, "瓦": 1000},
    ),
    "net_weight": (
        *("克", "g"),
        tuple(1000 * grams for grams in (50, 100, 250, 500, 1000, 2000)),
        {"kg": 1_000_000, "千克": 1_000_000, "公斤": 1_000_000, "斤": 500_000, "克": 1000, "g": 1000},
    ),
    "volume": (
        *("毫升", "ml"),
        tuple(1000 * millilitres for millilitres in (30, 50, 100, 250, 500, 1000)),
        {"ml": 1000, "毫升": 1000, "升": 1_000_000, "l": 1_000_000},
    ),
    "screen_size": (
        *("英寸", "inch"),
        tuple(1000 * inches for inches in (13, 14, 15, 24, 27, 32)),
        {"英寸": 1000, "寸": 1000, "inches": 1000, "inch": 1000},
    ),
    "battery": (
        *("毫安时", "mAh"),
        tuple(1000 * charge for charge in (5000, 10000, 20000, 30000)),
        {"mah": 1000, "毫安时": 1000, "毫安": 1000},
    ),
}

# Families whose words mean something only on an axis whose name holds one of these.
AXES: dict[str, tuple[str, ...]] = {
    "size": ("尺码", "尺寸", "大小", "size"),
    "shoe_size": ("鞋码", "尺码", "size"),
}

# The first row with a word that the category path holds: the families of its products.
CATEGORIES: tuple[tuple[str, str], ...] = (
    ("鞋 靴 shoe boot sneaker", "shoe_size color material"),
    ("图书 书籍 杂志 book magazine", "edition"),
    (
        "数码 电脑 影音 电玩 耳机 音箱 充电 electronic computer headphone charger cable phone video_game",
        "connector_type color wattage battery screen_size material",
    ),
    ("护肤 面膜 面部 skin", "skin_type item_form volume net_weight scent"),
    ("彩妆 makeup cosmetic", "finish_type color item_form net_weight"),
    ("香氛 洗护 个人清洁 beauty hair fragrance perfume candle", "scent item_form volume net_weight color"),
    (
        "食品 零食 坚果 咖啡 冲饮 茶饮 粮油 速食 滋补 营养 辅食 主粮 food snack grocery coffee tea pet",
        "flavor net_weight volume item_form",
    ),
    ("锅 厨具 餐具 杯 水壶 kitchen cookware dining", "material color volume finish_type"),
    ("黄金 饰品 首饰 珠宝 jewelry jewellery", "material color finish_type net_weight"),
    (
        "女装 男装 童装 孕妇装 服饰 服装 内衣 裤 裙 clothing apparel fashion shirt dress",
        "size color material",
    ),
    ("电器 灯 电子 电气 电动 仪器 appliance light lamp", "color wattage material finish_type volume"),
    (
        "家具 家居 家纺 床品 寝具 收纳 布艺 furniture home bedding rug",
        "color material finish_type size",
    ),
    ("运动 健身 户外 sport outdoor fitness", "color size material net_weight"),
)
OTHER_CATEGORIES = "color material size finish_type"
