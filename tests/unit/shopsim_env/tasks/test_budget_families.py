"""Budgets by family of phrase: sentences of our own, labelled by the decision table (docs/reward.md) alone.

A row is `text = decision`: h is a hard ceiling, a an approximate one (the number is the stated amount), p a
price of a part, f a floor, x ambiguous, n no budget.
"""

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from budget_rows import KINDS, rows_of

from shopsim_env.tasks.budget import parse_budget

RANGES_WITH_WORDS = """
    帆布包想要60到90块之间的 = h90
    露营椅，价格介于120和180元之间 = h180
    心理价位在三十到四十五块钱这个区间 = h45
    保温壶的价位八十至一百二 = h120
    预算1千5到2千 = h2000
    售价2k～2.5k的人体工学椅 = h2500
    预算300-400元上下 = h400
    花费在一万二到一万五之内 = h15000
    桌布，价格从25元到40元都行 = h40
    价格在1.2万至1.5万元左右 = h15000
    找条围巾,二三十块钱 = h30
    门帘七八十块左右 = h80
    置物架，预算三五百 = h500
    贴纸两三块 = h3
    发圈，一两块钱的那种 = h2
    工具箱，价格在一百八九左右 = h190
"""
UNIT_PRICES = """
    彩色卡纸，每张不超过2元 = p
    毛线团，每团30元以内 = p
    亲子手工课，40元一个人 = p
    亲子手工课，四十块钱一人 = p
    棉线15元一团 = p
    团建用的帽子，人均50以内 = p
    每人的预算在80元左右 = p
    肥皂五块钱一块 = p
    坚果65元一斤以内 = p
    窗帘布，一米的价格在38元左右 = p
    半米12块左右的蕾丝 = p
    地垫单块价格不超过9元 = p
    螺丝0.5元/个 = p
    灯带的单价控制在18块以内 = p
    租音响，一天的价格不超过150元 = p
    每个月的费用在60元以内 = p
    会议椅两百块一把的 = p
    玻璃定做，每平米260元左右 = p
"""
SLIGHTLY_MORE = """
    闹钟，价格八十出头 = a80
    书包一千三出头的样子 = a1300
    行李箱，四百出头的样子 = a400
    护目镜160多块 = a160
    预算两千多一点 = a2000
    地毯价格在九百来块 = a900
    雨靴，三十几块 = a39
    竹篮，价格十几元 = a19
    按摩椅三千多 = a3000
    显示器，1500块冒头 = a1500
    台历二十来块钱的 = a20
    价格4百多的蓝牙耳机 = a400
    一万出头的相机 = a10000
    千把块的键盘 = a1000
"""
TWO_AMOUNTS = """
    预算300左右，最多不能超过350 = h350
    价格二百出头，别超过两百五 = h250
    十几块钱, 上限二十五 = h25
    吉他预算1500左右，琴包的安装费50以内 = a1500
    价格在80元左右，总价不超过90元 = h90
    单价12元，总预算100以内 = h100
    定金200元，总价控制在1800元内 = h1800
    先付500元定金，总价在3000左右 = a3000
    首付1000，总共不超过6000 = h6000
    原价99元的水杯，现在预算60以内 = h60
    满300减40，预算260元左右 = a260
    预算500元以内，价格控制在400元以内 = x
    总价两千左右，总预算三千左右 = x
    书架预算200元，价格在200元以内 = h200
    运费8元以内，价格不超过120元 = h120
"""
FLOORS = """
    要好一点的茶叶，价格300元以上 = f
    售价不低于两千元的腕表 = f
    预算5000起步 = f
    至少给我找1000块的 = f
    价格200+的香水 = f
    预算80元起，别超过120元 = h120
    高于100元低于200元 = h200
    超过300块就算了 = h300
    预算不少于600元 = f
"""
DEPOSITS = """
    定制西服，定金300以内 = p
    能接受两百块押金 = p
    月供500元以内的电动车 = p
    分期每期200块左右 = p
    沙发首付不超过2000元 = p
    租相机，押金控制在一千五以内 = p
    快递费10元以内 = p
"""
BOUGHT_WHOLE = """
    整套450以内 = h450
    茶具一整套600以内的 = h600
    全套价格300左右 = a300
    两瓶不超过260 = h260
    三盒不超过一百 = h100
    袜子10元5双 = h10
    5双十元的袜子 = h10
    一对价格在70元以内的哑铃 = h70
    抽纸一箱80以内 = h80
    餐盘一套300出头 = a300
    拼团价别超过28元 = h28
    租金不高于220元的礼服 = h220
    券后价59的抱枕 = h59
    打折后不超过80元 = h80
"""
COUNTERS = """
    要装两块硬盘的机箱 = n
    想要三块木板 = n
    给我拿两三块 = n
    买一块黑色的桌布 = n
    来两块，厚一点 = n
    四块装的抹布 = n
    十块二十块都行的发夹 = h20
    单板滑雪镜,500元以内 = h500
    两块硬盘的机箱，预算三百 = h300
    选两块橡皮，五块钱以内 = h5
    就两块，不要贵的 = h2
    一块五的橡皮 = h1.5
    两块五毛钱的铅笔 = h2.5
    三块六毛的橡皮 = h3.6
    九毛九的贴纸 = h0.99
    五毛钱的贴纸 = h0.5
    9块8包邮 = h9.8
"""
SCALES = """
    最多6.5k = h6.5e3
    最多6.5k能拿下的显卡 = h6500
    预算2w以内 = h20000
    预算1w5 = h15000
    预算1.8万 = h18000
    无人机，一万二左右 = a12000
    2千五以内的平板 = h2500
    3k左右的平板 = a3000
    三千六封顶 = h3600
    大概五千的手机 = a5000
    价格1,499元以内 = h1499
    预算1，299 = h1299
    价格１２８元以内 = h128
    价位一千零八十 = h1080
    预算两千零五十以内 = h2050
    200人民币上下的 = a200
    RMB 350以内 = h350
    ￥89.9以内 = h89.9
    尺码40,200元以内 = h200
"""
NO_CURRENCY_WORD = """
    价格控制在65 = h65
    预算嘛，七十就够了 = h70
    上限设在900，预算就这样 = h900
    预算不多，一百五 = h150
    价格大概45的样子 = a45
    预算卡在二百二以内 = h220
    价位一百六七 = h170
"""
BUYING_VERBS = """
    想买个台灯，不超过80 = h80
    准备入手一个键盘，最多300 = h300
    想给妈妈买条丝巾，两百以内 = h200
    求购一台二手缝纫机，别超过四百 = h400
    买个背包，300左右 = a300
    想买200左右的耳机 = a200
    入手一个150以内的鼠标垫 = h150
    买300以内的键盘 = h300
    买个手环，要防水，最好两百出头 = a200
    买三本，一共不超过60 = h60
    两百七能搞定的门锁 = h270
    35就能带走的小盆栽 = h35
    五十左右包邮 = a50
    29.9包邮的拖鞋 = h29.9
    打算花个八十块买把伞 = h80
    只能给到320元 = h320
    我准备了六百块 = h600
    七十五能拿下吗 = h75
    一百二入手的风筒 = h120
"""
NOT_MONEY = """
    买个行李箱，长度要短，不超过50 = n
    买个行李箱，不超过20寸 = n
    买裤子，腰围不超过80 = n
    给孩子买书包，身高150以内 = n
    想买给40左右的爸爸穿的外套 = n
    买个水杯，500毫升左右 = n
    长1米5左右的桌子 = n
    高1米75的男生穿的 = n
    要3米2的窗帘 = n
    买5包，每包10片 = n
    不超过80 = n
    四十出头的女性 = n
    3000k左右的灯泡 = n
    1200w左右的电吹风 = n
    1千瓦以内的电锅 = n
    三千转左右的马达 = n
    八千毫安左右 = n
    两千人左右的会场 = n
    价格实惠的百洁布10片装 = n
    便宜点的就行，买3条 = n
    2到3人用的帐篷，颜色多 = n
    有效期3年以上 = n
    打九折的店 = n
    几十种颜色可选 = n
    第三代，第二件半价 = n
    6块腹肌的模型 = n
    八角和桂皮 = n
    千元机的手机壳 = n
    买条裤子，腰围80，不超过100 = n
    买台冰箱，噪音小，低于40 = n
    买一百以内的加减法练习册 = n
    海拔三千左右能用的炉头 = n
    买给五十左右的妈妈 = n
    买件一百六出头的男生穿的 = n
    浏览量三千左右的店 = n
    三千到五千 = n
    1到2千 = n
"""
WITHOUT_A_DIGIT = """
    预算几百块 = x
    几十块钱的帽子 = x
    价格在几千元左右 = x
"""
# Whole requests, written and labelled after the families and before they were read by the parser.
WHOLE_REQUESTS = """
    想淘一把吉他，八九百的样子就行，预算别超一千 = h1000
    求推荐电饭锅，预算二百来块 = a200
    帮选个吹风机，价格在一百五到两百二之间 = h220
    送男友的剃须刀，五百上下都能接受，买个好看点的 = a500
    孩子用的台灯，控制在三位数以内，两百块钱差不多了 = a200
    要个收纳箱，三十块钱俩也行 = h30
    宿舍用的小风扇，49包邮的那种 = h49
    雨伞，十块二十块都可以 = h20
    冬天穿的棉拖，25块钱一双 = h25
    婚礼喜糖，一份的价格在6元左右 = p
    要做窗帘，一米80元以内 = p
    会议桌，预算3000元，不含运费 = h3000
    租婚纱一天300元以内 = p
    实木床，两千八以内，送货上门 = h2800
    给爸买手表，大约四千出头 = a4000
    办公椅要两把，总共不超过九百 = h900
    买3条毛巾，20元左右 = a20
    价格不要超过1万2的笔记本 = h12000
    相机预算1.2w-1.5w = h15000
    耳环，价格是9块9 = h9.9
    蓝牙音箱，价格两三百吧 = h300
    键盘，300块钱以里 = h300
    拼图1000片的，价格50左右 = a50
    2个装的枕头，一百五以下 = n
    能放下4块电池的遥控器，40块以内 = h40
    找5斤装的大米，35元左右 = a35
    酒杯要六只一套的，120元内 = h120
    奶粉单罐价格不超过二百六 = p
    手机壳，预算不超过￥35 = h35
    露营灯，最高接受89元 = h89
    电动牙刷,价格100元起,200元封顶 = h200
    沙发，首付500，总价4000左右 = a4000
    补习课，一节课的价格在100元左右 = p
    宠物窝，价格八十块以下，直径60厘米左右 = h80
    地毯1.6米乘2米，380元左右 = a380
    保温杯500毫升以上，80元以内 = h80
    价格在¥199上下的跑鞋 = a199
    羽绒服打完折600左右 = a600
    团购价不高于三十八元的火锅套餐 = h38
    每瓶25元左右，一箱总价不超过150 = h150
    不要几十块的便宜货，价格300以上 = f
    预算有限，给到一百八 = h180
    三千块以内能入手的平板 = h3000
    最好别低于五百 = n
    大概要八百多块钱的滑板车 = a800
    想花一两千买个自行车 = h2000
    价格在四五百左右的羽毛球拍 = h500
    手办，价格六百五十左右上下浮动 = a650
    价钱最好是两位数 = n
    预算20元左右，买10个 = a20
    人均消费100元以内的餐具套装 = p
    烧水壶，便宜点，70块钱以下 = h70
    儿童自行车16寸的，价位四百左右 = a400
    二手相机，九成新，三千五左右 = a3500
    100块钱能买两个的抱枕 = h100
    充电宝2万毫安，100元左右 = a100
    求一款1万毫安以内的充电宝 = n
    一百多块钱的两件套 = a100
"""
FAMILIES = {
    "ranges with words": RANGES_WITH_WORDS,
    "unit prices": UNIT_PRICES,
    "slightly more": SLIGHTLY_MORE,
    "two amounts": TWO_AMOUNTS,
    "floors": FLOORS,
    "deposits": DEPOSITS,
    "bought whole": BOUGHT_WHOLE,
    "counters": COUNTERS,
    "scales": SCALES,
    "no currency word": NO_CURRENCY_WORD,
    "buying verbs": BUYING_VERBS,
    "not money": NOT_MONEY,
    "without a digit": WITHOUT_A_DIGIT,
    "whole requests": WHOLE_REQUESTS,
}


@pytest.mark.parametrize(("family", "text", "decision"), rows_of(FAMILIES))
def test_each_family_is_decided_by_the_table(family: str, text: str, decision: str) -> None:
    budget = parse_budget(text)
    assert (budget.kind, budget.amount) == (
        KINDS[decision[0]],
        Decimal(decision[1:]) if decision[1:] else None,
    ), family


# Generous on purpose: a text with one of these may speak of money.
_MONEY_WORD = re.compile(
    "[价预费钱元块圆¥￥贵卖售]|人民币|rmb|一共|总共|合计|定金|首付|便宜|实惠", re.IGNORECASE
)
_BUYING_VERB = re.compile("[买购花]|拿下|搞定|入手|包邮|成交|带走|准备|给到|拿到")
_LARGE_AMOUNT = re.compile("[千万kKwW]")


@pytest.mark.published
def test_no_budget_is_invented_in_texts_that_do_not_speak_of_money(shared_data: Path) -> None:
    with gzip.open(shared_data / "real" / "tasks.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row[name] for row in rows for name in ("instruction", "instruction_simple") if row[name]]
    silent = [
        text
        for text in texts
        if not any(words.search(text) for words in (_MONEY_WORD, _BUYING_VERB, _LARGE_AMOUNT))
    ]
    assert len(texts) > 1500
    assert len(silent) > 20
    assert [text for text in silent if parse_budget(text).kind != "no_budget"] == []
