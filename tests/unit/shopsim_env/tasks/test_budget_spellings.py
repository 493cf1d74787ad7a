"""Budgets in harder spellings: sentences of our own, labelled by the decision table before they were parsed.

A row is `text = decision`, with letters as in `test_budget_families`: h hard, a approximate, p a part, f a
floor, x ambiguous, n none. The last group was written after the grammar had been mended for the others.
"""

from decimal import Decimal

import pytest
from budget_rows import KINDS, rows_of

from shopsim_env.tasks.budget import parse_budget

WITHOUT_A_DIGIT = """
    预算大几千的单反 = x
    价格大几百就行 = x
    大几十块钱的水壶 = x
    预算小几百 = x
    几千块的镜头 = x
    预算好几百都行 = x
    价位在小一千 = a1000
"""
GROUPED_DIGITS = """
    预算 1 000元以内 = h1000
    2 500 元左右的投影仪 = a2500
    价格不超过 12 800 元 = h12800
    预算1,2000元以内 = h12000
    价格 1 299 到 1 599 元 = h1599
    买 2 个 500 元以内的音箱 = h500
"""
PACKS_WITH_GOODS = """
    一箱苹果80以内 = h80
    两瓶洗发水不超过100 = h100
    三双袜子，二十以内 = h20
    整套餐具450左右 = a450
    一盒巧克力别超过60 = h60
    四包纸巾30元 = h30
    两本书加起来50以内 = h50
    一整套茶具大概600 = a600
    一对耳钉两百以内 = h200
    全套护肤品不超过八百 = h800
    一打袜子 40元左右 = a40
"""
FLOOR_AND_CEILING = """
    价格不低于100不超过200 = h200
    不少于50元，不多于80元 = h80
    预算最低100最高200 = h200
    价格下限300上限500 = h500
    预算100起200封顶 = h200
    100元往上150元往下 = h150
    价格大于30小于60 = h60
    不要低于200块，也不要高过300块 = h300
    两百以上三百以下的价位 = h300
    价格区间：80到120 = h120
    价格50元至80元不等 = h80
    预算从三百到四百五 = h450
    80-100元之间吧 = h100
    价格120元/150元都行 = h150
"""
LIMITS = """
    预算撑死两百 = h200
    撑死了300块 = h300
    顶多花150 = h150
    顶天500块钱 = h500
    预算最多也就400 = h400
    价格封顶1200 = h1200
    预算上限是八百五 = h850
    预算的上限设在1500 = h1500
    价格控制在三百块以内 = h300
    把价格控制在99以下 = h99
    别超两百块 = h200
    可别超了五百元 = h500
    价格千万不要超过180 = h180
    不能比200元贵 = h200
    价格不要贵过150 = h150
    超过400块不买 = h400
    300元打住 = h300
    预算就200，多一分都没有 = h200
    价格在260元（含）以内 = h260
    预算<=300元 = h300
    预算≤300元 = h300
    价格＜500元 = h500
    预算小于等于80元 = h80
    价格卡死在200块 = h200
    最多只能出120 = h120
    预算300不能再高了 = h300
"""
ESTIMATES = """
    不到三百块的耳机 = h300
    500块上下的桌子 = a500
    八百出头的冲锋衣 = a800
    预算三百来块 = a300
    价格两百五十块左右 = a250
    预算六百上下浮动 = a600
    预算约莫三百 = a300
    价格大致在150元 = a150
    一百来块钱的充电宝 = a100
    预算近千元 = a1000
    价格将近两千 = a2000
    预算大约在2k左右 = a2000
    预算180多 = a180
    价格千元左右 = a1000
    预算百十来块 = a110
    预算一两千 = h2000
    价格七八百左右 = h800
"""
UNIT_AND_TOTAL = """
    每个不超过10元，一共50以内 = h50
    单件30元，总共不超过300元 = h300
    一斤20元左右的茶叶 = p
    15块钱一包，要三包 = p
    地板每平方200元以内 = p
    均摊每人60元 = p
    一个10块，五个50块以内 = h50
    每月200元租的钢琴 = p
    单只不超过8块钱 = p
    20元一斤的坚果 = p
    总价500，折合每件50 = h500
"""
INSTALMENTS = """
    分12期，每期不超过200元 = p
    首付三成，总价不超过5000 = h5000
    月供不超过800的电动车 = p
    订金50元，全款不超过600元 = h600
    尾款300以内 = p
    免息分期，总价4500以内 = h4500
    押金500元，租金每天80元 = p
    定金膨胀，100抵200，到手价不超过900元 = h900
"""
DISCOUNTS = """
    满300减50，预算200元以内 = h200
    满199减20的店铺 = n
    用完50元优惠券不超过180元 = h180
    原价599，到手400以内 = h400
    打8折后200元左右 = a200
    领券立减30，券后不超过99元 = h99
    立减100元的冰箱 = n
    有20元优惠券的洗面奶 = n
    送50元话费的手机 = n
    能省50块钱的套装 = n
    返现30元的链接，预算150 = h150
    减完券80块以内 = h80
"""
SIZES_NEAR_MONEY = """
    5斤重30块以内的大米 = h30
    500克20元以内的咖啡豆 = h20
    两块300克的肥皂 = n
    巧克力一块50克 = n
    6块装的月饼，80元以内 = h80
    15.6寸2000元以内的显示器 = h2000
    500ml的杯子，50元内 = h50
    两米长的地毯100块以内 = h100
    一元硬币收纳册 = n
    2.5米电线10块钱左右 = a10
    适合120斤穿的，100元以内 = h100
"""
DATES = """
    5月20号前到，预算200 = h200
    2024款，500元以内 = h500
    双11活动价300元以内 = h300
    1月1日送达的贺卡 = n
    孩子6岁，预算一百五 = h150
    用3年以上的电池，80元左右 = a80
"""
ENGLISH = """
    预算 under 200 = h200
    买个杯子 under 50元 = h50
    budget under 300 yuan = h300
    price below 300 RMB = h300
    max 500元的机械键盘 = h500
    no more than 150元的鼠标 = h150
    around 300元的耳机 = a300
    less than 80 rmb = h80
    at least 100元的礼盒 = f
    up to 250元 = h250
    RMB500以内 = h500
    CNY 1,299以下 = h1299
    budget: 400 = h400
"""
NUMERALS = """
    预算３００～５００元 = h500
    ￥４９．９以内 = h49.9
    价格２ｋ以内 = h2000
    预算１．５ｋ左右 = a1500
    预算一千二 = h1200
    两百来块的台灯 = a200
    1.5k左右的平板 = a1500
    预算3w = h30000
    价格3千5百元以内 = h3500
    预算2百5 = h250
    价格1万零5百以内 = h10500
    预算壹佰元 = h100
    预算贰佰伍拾元以内 = h250
    价格一千零八十元以下 = h1080
    预算2k5 = h2500
    预算4500～5千 = h5000
    价格二三百块 = h300
"""
SECOND_ROUND = """
    想找个电煮锅，价位大几十就成 = x
    给奶奶挑件马甲，预算小两百 = a200
    预算 2 300 元的山地车 = h2300
    一袋猫粮一百二以内的 = h120
    求两副手套，别超过40 = h40
    整箱牛奶六十左右的 = a60
    三件T恤不超过一百五 = h150
    餐椅要四把，全部不能高过1200元 = h1200
    花瓶不低于60元，不高于90元 = h90
    价位在大于100小于等于150 = h150
    起码两百，最多三百的价位 = h300
    价格250上下，不许超过280 = h280
    皮带，预算撑死一百八 = h180
    烤箱至多给600块钱 = h600
    毛毯顶多一百五十元 = h150
    预算在四百块封顶的背包 = h400
    台历不到二十元 = h20
    价格把握在70元以下的雨披 = h70
    钱包别贵过三百块 = h300
    风衣控制在五百块钱上下 = a500
    挂钟一百出头块钱 = a100
    价格千把块 = a1000
    跳绳十来块钱的 = a10
    预算在三四十块左右 = h40
    每条不超过15元的毛巾 = p
    一共要十个，每个3块钱以内，合计30元 = h30
    木板一平方米90元左右 = p
    按人头每位120元的自助券 = p
    这款沙发分24期，月付150元 = p
    订金300，剩下的尾款不超过700元 = p
    定金100元，总价1500元左右的沙发 = a1500
    满500减80，到手价不要超过420 = h420
    优惠券抵扣后大约65元 = a65
    原来卖899，现在预算500以内 = h500
    折后220元左右的跑鞋 = a220
    每满300减40的活动 = n
    买一送一，价格99元 = h99
    2斤装的核桃55元以内 = h55
    找个1.8米的鱼竿，200块钱左右 = a200
    两块布，每块三米 = n
    32寸电视1000块以下 = h1000
    重量5公斤，价格不超80 = h80
    6月18日前发货，预算700元 = h700
    2023年款的平板，价格两千三以内 = h2300
    十二岁女孩穿的裙子，八十块以内 = h80
    looking for a lamp under 100元 = h100
    budget around 500 = a500
    最好within 200 yuan = h200
    price no more than 80 = h80
    预算about 1.2k = a1200
    超过1000 rmb的不要 = h1000
    预算１００～１５０元 = h150
    价格￥1，280以下 = h1280
    预算1万2左右 = a12000
    价格两千零八十块 = h2080
    价位3百到3百5 = h350
    预算八千六的笔记本 = h8600
    预算1w到1w2 = h12000
    预算两百七八十 = h280
    两三千的预算 = h3000
    价格大概在一百七八十块 = h180
    预算叁佰元整 = h300
"""
# What the rules for spaced digits, goods in a pack, English words and limits in a row must leave alone.
LOOK_ALIKES = """
    尺码 40 200元以内 = h200
    一个直径40以内的杯垫 = n
    一双大小40以内的鞋 = n
    一个人用的不超过80 = n
    买一部Pro Max 256的手机 = n
    underwear 80码 = n
    价格1万零5元 = h10005
    预算2千零50 = h2050
    地垫3/4寸 = n
    长度不低于100不超过200 = n
    一套12人用的餐具 = n
"""
FAMILIES = {
    "look-alikes": LOOK_ALIKES,
    "without a digit": WITHOUT_A_DIGIT,
    "spaced and grouped digits": GROUPED_DIGITS,
    "a noun between pack and amount": PACKS_WITH_GOODS,
    "floor and ceiling": FLOOR_AND_CEILING,
    "limits": LIMITS,
    "estimates": ESTIMATES,
    "per unit and total": UNIT_AND_TOTAL,
    "deposits and instalments": INSTALMENTS,
    "discounts and coupons": DISCOUNTS,
    "weights and sizes near money": SIZES_NEAR_MONEY,
    "dates": DATES,
    "English": ENGLISH,
    "full width and mixed numerals": NUMERALS,
    "second round": SECOND_ROUND,
}


@pytest.mark.parametrize(("family", "text", "decision"), rows_of(FAMILIES))
def test_each_spelling_is_decided_by_the_table(family: str, text: str, decision: str) -> None:
    budget = parse_budget(text)
    amount = Decimal(decision[1:]) if decision[1:] else None
    assert (budget.kind, budget.amount) == (KINDS[decision[0]], amount), family
