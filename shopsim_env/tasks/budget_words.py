"""Vocabulary of budget clauses: which words exist and what role each may play.

Belongs here: words and roles. How a text is cut into them: `budget_lexer`; what a role means beside a number:
`budget_amounts` and `budget_grammar`. Every word is ours; the decisions are tabled in docs/reward.md.
"""

from itertools import product

# Roles of a word; BEFORE and AFTER say on which side of the amount the word counts.
BREAK = 1 << 0  # ends a clause
NUMBER = 1 << 1
CURRENCY = 1 << 2
PIECE = 1 << 3  # 块: currency or counter
SIGN_BEFORE = 1 << 4  # ¥ 200
PRICE = 1 << 5  # a word for price or budget
TOTAL = 1 << 6  # ... of everything together
CEILING_BEFORE = 1 << 7
CEILING_AFTER = 1 << 8
FLOOR_BEFORE = 1 << 9
FLOOR_AFTER = 1 << 10
APPROX_BEFORE = 1 << 11
APPROX_AFTER = 1 << 12
SPEND_BEFORE = 1 << 13
BUY_AFTER = 1 << 14
PER_BEFORE = 1 << 15  # per piece, metre, hour ...
PER_AFTER = 1 << 16
DEPOSIT = 1 << 17  # deposits and instalments
FEE = 1 << 18
OTHER_MONEY_BEFORE = 1 << 19  # old prices, discounts, presents
OTHER_MONEY_AFTER = 1 << 20
JOIN = 1 << 21
BETWEEN = 1 << 22
MEASURE = 1 << 23  # names of sizes: their numbers are never money without a currency
REFUSE_AFTER = 1 << 24  # turns 超过 into a ceiling: 超过100就不考虑
GLUE_BEFORE = 1 << 25
GLUE_AFTER = 1 << 26  # may stand between an amount and what is said about it
GO_ON = 1 << 27  # may follow an amount without a unit
NOISE = 1 << 28  # swallowed so that its characters are not read as numbers or words
TENTH = 1 << 29  # 毛: a tenth of 块; like it, it may count other things
FREIGHT = 1 << 30  # not a part of the price of the goods
JUST_OVER = 1 << 31  # 出头: said of prices, and of ages below a hundred
BUY_BEFORE = 1 << 32

QUALIFIER_AFTER = CEILING_AFTER | FLOOR_AFTER | APPROX_AFTER
# What may follow a number without currency: anything else could be a unit (20寸, 300张).
AFTER_BARE = (
    QUALIFIER_AFTER
    | BREAK
    | BUY_AFTER
    | PRICE
    | GO_ON
    | CEILING_BEFORE
    | FLOOR_BEFORE
    | REFUSE_AFTER
    | BETWEEN
    | PER_AFTER
)

_BREAKS = '，。；;：:！!？?、（）()【】[]“”"…|·,.\n\r\t'

_VOCABULARY: tuple[tuple[int, str], ...] = (
    (CURRENCY, "元 元钱 元人民币 块钱 块钱人民币 块人民币 圆 圆钱 人民币 软妹币 rmb cny yuan 大洋"),
    (PIECE, "块"),
    (TENTH, "毛 毛钱 角 角钱"),
    (NUMBER, "个位数"),  # up to nine
    (SIGN_BEFORE, "¥ 人民币 rmb cny"),
    (
        PRICE,
        """
        预算 价格 价钱 价位 售价 花费 费用 价值 租金 报价 卖价 定价 要价 均价 底价 标价格 成交价 到手
        到手价 到手价格 优惠后 优惠价 折后 折后价 打折后 打完折 现价 券后 券后价 团购
        团购价 预售 预售价 拼团价 活动价 含税 含税价 价码
        成本 开销 消费 心理价位 价格区间 价位区间 购买力 金额 租价 月租金额 房租
        """,
    ),
    (PRICE, "budget price cost"),
    (PRICE, "别太贵 不要太贵 不能太贵 不贵 便宜点 便宜一点 便宜些 实惠"),
    (
        PRICE | TOTAL,
        """
        总价 总价格 总预算 总费用 总花费 总共 一共 合计 总计 共计 全部加起来 加起来 总金额 总额
        """,
    ),
    (
        CEILING_BEFORE,
        """
        低于 小于 少于 低过 便宜过 最多 最高 至多 顶多 顶多就 上限 封顶 最贵 撑死 撑死了 只能给到 控制到
        <= ≤ < under below max within up_to at_most less_than no_more_than not_more_than
        """,
    ),
    (CEILING_BEFORE | CEILING_AFTER, "不到 不足 都不到 还不到"),
    (
        CEILING_AFTER,
        """
        以内 以下 之内 之下 内 为上限 上限 封顶 顶天 为止 打住 范围内 以里 往下 or_less or_below max
        """,
    ),
    (
        FLOOR_BEFORE,
        """
        至少 起码 最低 最少 下限 超过 高于 大于 多于 超出 高过 贵于 超 >= ≥ > at_least over above more_than
        no_less_than
        """,
    ),
    (FLOOR_AFTER, "以上 之上 起 起步 起码 往上 打底 + 朝上 及以上 或以上 开外"),
    (APPROX_BEFORE, "大概 大约 约 约为 约莫 差不多 接近 将近 大致 差不多就 大概率 约摸 近 小"),
    (APPROX_BEFORE, "around about roughly approximately approx"),
    (
        APPROX_AFTER,
        """
        左右 上下 上下浮动 浮动 冒头 附近 出头 差不多 大概 大约 多 来 余 多点 出点头
        """,
    ),
    (JUST_OVER, "冒头 出头 出点头"),
    (BUY_BEFORE | BUY_AFTER, "买 买个 买一个 购买 采购 入手 入手个 入手一个 拿下一个"),
    (
        SPEND_BEFORE,
        """
        花个 花上 花掉 打算花 想花 准备花 愿意花 能花 只花 就花 花了 可以花 准备 准备了 给到 卖
        出价 能出 只能出 愿出 拿出 掏 预留 预留了 出到 只出 价 包邮
        """,
    ),
    (
        BUY_AFTER,
        """
        搞定 拿下 入手 包邮 买到 买得到 能买 可以买 可买 买 来买 买个 带走 成交 够了 够 够用 足够 解决
        这个价 这个价位 能搞定 能到手 就买 买下 抱走 拿到 能带走 就能带走
        """,
    ),
    (PER_BEFORE, "单价 人均 每平 月均"),
    (
        DEPOSIT,
        """
        定金 订金 押金 首付 首付款 月供 分期 每期 一期 月付 月租 预付 预付款 尾款 保证金 按揭
        """,
    ),
    (
        FEE,
        """
        手工费 设计费 安装费 加工费 服务费 维修费 人工费 改装费 定制费 工费
        """,
    ),
    (FREIGHT, "运费 邮费 快递费 物流费 车费"),
    (
        OTHER_MONEY_BEFORE,
        """
        原价 市场价 吊牌价 日常价 原来卖 以前卖 平时卖 满 立减 减 减免 便宜 优惠 省 省了 返现 抵 抵扣 面值
        面额 充值 赠送价值 送价值 涨 降 降价 补贴 红包 奖金 工资 月薪 收入
        """,
    ),
    (
        OTHER_MONEY_AFTER,
        """
        优惠券 代金券 抵用券 券 优惠 红包 话费 购物卡 面值 补贴 店 工资 纸币 硬币
        """,
    ),
    (JOIN, "- ~ 至 到 和 与 或 或者 -- ~~ /"),
    (BETWEEN, "之间 间 区间 中间 范围 的区间 这个区间 之中"),
    (
        MEASURE,
        """
        尺寸 尺码 长度 宽度 高度 厚度 直径 半径 长 宽 高 厚 重量 体重 身高 容量 功率 转速 电压 电流 像素
        面积 流量 亮度 色温 流明 续航 年龄 岁数 温度 瓦数 寿命 数量 库存 粉丝 销量 评价 好评 速度 频率
        分辨率 克重 规格 型号 电池 毫安 距离 里程 时间 时长 载重 承重 人数 字数 页数 片数 张数 件数 目数
        码数 度数 大小 腰围 胸围 臀围 衣长 裙长 裤长 袖长 肩宽 脚长 深度 内径 外径 间距 孔距 噪音 分贝 海拔
        热量 保质期 有效期 浏览量 播放量 关注 评分 年纪
        """,
    ),
    (
        REFUSE_AFTER,
        """
        就不 不考虑 不要 不买 就算了 算了 免谈 就贵了 太贵 不行 买不起 就别 就超 就有点贵 接受不了
        """,
    ),
    (
        GLUE_BEFORE,
        """
        在 是 为 要 控制 限制 限定 卡 卡在 设定 设 定 的 话 的话 就 只 有 有个 需 需要 会 最好 希望 预计
        预估 预期 计划 打算 想 能 能够 可以 接受 能接受 可接受 应该 应 必须 尽量 我 我的 嘛 呢 了 也 只有
        都 到 个 差 在于 有限 不多 不高 要求 目前 现在 给我 给我找 帮我找 且 而 但 并且 大家
        心里 心理 区间 范围 位 务必 千万
        保持 处于 维持 位于 落 落在 定在 一般 整体 整个 整套 一套 一整套 全套 最 不要 不能 那种 这种 =
        从 大 好 is of for
        """,
    ),
    (
        GLUE_AFTER,
        """
        的 都 就 应该 也 还 最好 可以 可 能 就能 就可以 能够 内的 一点 基本 基本能 帮我 有没有 吧 就可
        即可
        """,
    ),
    (
        GO_ON,
        """
        的 吧 啊 哈 呢 喔 哦 呀 了 就 还 能 可 可以 推荐 求 想 买 有 我 请 帮 最好 应该 够 且 但 并 也 都
        这 那 样子 预算 价 以 给 一点 即可 就行 就好 找 要 ~ 看看 为 合适 行 好 选 搜
        """,
    ),
    (
        NOISE,
        """
        百分之 百分百 十分 千万别买 万能 万用 百搭 百合 百褶 百香 百变 百叶 百货 百姓 百家 千层 千斤
        千层饼 千元机 一般般 一定 一样 一些 一下 一直 一起 一体 一次 一款 一个 一台 一件 一条 一双 一只
        一把 一张 统一 唯一 第一 第二 第三 之一 万一 三角 四季 五金 八宝 九阳 六角 二手 二次元 多元 单元
        元素 元件 元宝 元旦 元宵 元气 元催化 元锂 元乙丙 元年 元老 元宇宙 性价比 特价 平价 低价 高价
        价值感 内衣 内裤 内存 内胆 内饰 内置 内部 内容 内径 内芯 内裆 内里 内外 内搭 内膜 内科 内地 内角
        里面 一起买 起来 起泡 起订 起重 起球 到货 到家 到底 到位 和田 和服 和面 花型 花色 花纹 花瓶 花盆
        花园 花朵 花洒 花茶 百合花 玫瑰花 棉花 雪花 印花 碎花 鲜花 火花 有限公司 约会 给力 用品 用于 用来
        用在 多功能 多少 多层 来自 减震 减少 减速 减脂 减压 减肥 省电 省力 省空间 收纳 收音 收藏 收口 满足
        满意 抵抗 一键 一流 一线 一手 一代 一家 一步 一族 一身 一心 两用 两侧 两面 百威 千里 万向 万科
        降噪 降温 降解 涨价 近视 近期 近景 近光 最近 高级 高清 高端 高档 高品质 高效 高颜值 高弹 高跟 高帮
        高压 高温 高质量 价廉 价美 几何 几乎 定制 拿铁 卖家 店铺 商店 书店 用料 长款 长袖 宽松 厚实 厚底
        加厚 成长 延长 长期 超强 超薄 超市 超级 超大 超轻 超声 超静 上下铺 上下床 前后左右 左右脚 左右手
        左右开 上下身 上下水 余额
        """,
    ),
)


# Limits are made of two parts: 不要 + 超过, 最多 + 花, 别 + 再高.
_NOT = "不 不要 不能 不得 不可 不可以 不会 不想 不应 不应该 不许 没 没有 别 勿 莫 切勿 千万别 千万不要 不用"
_EXCEED = "超过 超出 超 高于 高过 高出 大于 多于 多过 贵于 贵过"
_FALL_BELOW = "低于 低过 少于 少过 小于 便宜过"
_AT_MOST = "最多 最高 顶多 至多 撑死 只 只能 就 最多也就 顶多也就"
_SPEND = "花 花个 出 掏 付 给"
_MORE = "再高 再多 再贵 再加 更高 更多 更贵"
_COMPOUNDS: tuple[tuple[int, str, str], ...] = (
    (CEILING_BEFORE, _NOT, _EXCEED),
    (FLOOR_BEFORE, _NOT, _FALL_BELOW),
    (SPEND_BEFORE, _AT_MOST, _SPEND),
    (CEILING_AFTER, _NOT, _MORE),
    (CEILING_BEFORE, "小于 低于 少于", "等于 或等于"),
    (FLOOR_BEFORE, "大于 高于 多于", "等于 或等于"),
)


def word_roles() -> dict[str, int]:
    """Every known word with all its roles (bits)."""
    roles = dict.fromkeys(_BREAKS, BREAK)
    for role, words in _VOCABULARY:
        for word in words.split():
            # A word of several words is written with _.
            spelled = word.replace("_", " ")
            roles[spelled] = roles.get(spelled, 0) | role
    for role, firsts, seconds in _COMPOUNDS:
        for first, second in product(firsts.split(), seconds.split()):
            roles[first + second] = roles.get(first + second, 0) | role
    return roles


def words_with(role: int) -> tuple[str, ...]:
    """All words of one role, in the order of the vocabulary."""
    return tuple(word for roles, words in _VOCABULARY if roles & role for word in words.split())
