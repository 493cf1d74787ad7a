"""Words of cards and reports in English and Chinese. No figures, no markup."""

from typing import Final

LANGUAGES: Final = ("en", "zh")

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "card_title": ("Result card", "评测结果卡"),
    "comparison_title": ("Comparison of two runs", "两次运行对比"),
    "sections": ("Sections", "章节"),
    "to_content": ("To the content", "跳到正文"),
    "about": ("What was played", "评测对象"),
    "item": ("Item", "项目"),
    "value": ("Value", "值"),
    "release": ("Release", "数据版本"),
    "dataset": ("Data set", "数据集"),
    "rules": ("Versions and environment", "版本与环境"),
    "versions": ("Versions", "组件版本"),
    "environment": ("Environment", "环境参数"),
    "model": ("Model", "模型"),
    "prompt": ("Prompt", "提示词"),
    "splits": ("Splits", "切分"),
    "fingerprint": ("Plan fingerprint", "计划指纹"),
    "created_at": ("Created", "创建时间"),
    "counts": ("Episodes", "轨迹数量"),
    "group": ("Group", "分组"),
    "groups": ("Success by environment and difficulty", "按环境与难度的成功率"),
    "overall": ("all", "全部"),
    "requested": ("requested", "计划"),
    "scored": ("scored", "已评分"),
    "failed": ("failed", "失败"),
    "invalid": ("invalid", "无效"),
    "unfinished": ("unfinished", "未完成"),
    "missing": ("missing", "缺失"),
    "coverage": ("coverage", "覆盖率"),
    "tasks": ("tasks", "任务"),
    "episodes": ("episodes", "轨迹"),
    "counts_note": (
        "Means are over scored episodes alone. An episode without a result is counted here and is "
        "never a zero; "
        "the worst case counts it as a failure.",
        "均值只统计已评分的轨迹。没有结果的轨迹在此计数，绝不当作零分；最坏情形把它们算作失败。",
    ),
    "no_plan": (
        "There is no plan: requested are the episodes that were recorded, so missing ones cannot be seen.",
        "没有运行计划：“计划”取已记录的轨迹数，无法得知缺失的轨迹。",
    ),
    "reading": ("Lines of the trace file", "轨迹文件的行"),
    "lines": ("lines", "行"),
    "unreadable": ("unreadable", "无法读取"),
    "replaced": ("played again", "被重跑替换"),
    "unplanned": ("not in the plan", "不在计划内"),
    "torn_bytes": ("bytes of an unfinished last line", "末行未写完的字节"),
    "errors": ("Errors", "错误"),
    "kind": ("kind", "种类"),
    "count": ("count", "数量"),
    "metrics": ("Metrics", "指标"),
    "metric": ("metric", "指标"),
    "mean": ("mean", "均值"),
    "wilson": ("Wilson interval", "Wilson 区间"),
    "bootstrap": ("bootstrap interval", "自助法区间"),
    "worst_case": ("worst case", "最坏情形"),
    "metrics_legend": (
        "Dot: mean. Line: 95 % interval (Wilson for rates, bootstrap over tasks for the others). "
        "Diamond: worst case.",
        "圆点：均值。横线：95% 区间（比率用 Wilson，其余按任务自助抽样）。菱形：最坏情形。",
    ),
    "r_loose": ("loose reward", "宽松奖励"),
    "r_strict": ("strict reward", "严格奖励"),
    "r_success": ("success", "成功率"),
    "finish": ("finished by a purchase", "完成率（购买）"),
    "r_type": ("type", "类型"),
    "r_att": ("attributes", "属性"),
    "r_option": ("options", "选项"),
    "r_price": ("price", "价格"),
    "success": ("success", "成功率"),
    "total": ("total reward", "总奖励"),
    "task_score": ("task score", "任务得分"),
    "hallucination": ("made-up ids (minus their share)", "虚构编号（占比的负值）"),
    "passes": ("pass@k and pass^k", "pass@k 与 pass^k"),
    "passes_note": (
        "pass@k: at least one of k samples succeeds. pass^k: all k do. Unbiased estimates, means "
        "over the tasks that "
        "have at least k scored samples.",
        "pass@k：k 次采样至少一次成功；pass^k：k 次全部成功。均为无偏估计，只对已评分采样数不少于 k "
        "的任务取平均。",
    ),
    "pass_at_k": ("pass@k", "pass@k"),
    "pass_hat_k": ("pass^k", "pass^k"),
    "too_few": ("tasks with fewer samples", "采样不足的任务"),
    "strata": ("Success by kind of task", "按任务类别的成功率"),
    "strata_public": (
        "From public labels and texts; what they do not say is unknown.",
        "取自公开标签与文本；其中没有说明的一律为“未知”。",
    ),
    "strata_private": (
        "With goals and witnesses of the private part, as classes only.",
        "使用私有部分的目标与见证，仅给出类别。",
    ),
    "dimension": ("dimension", "维度"),
    "stratum": ("stratum", "类别"),
    "audit": ("audit", "审计"),
    "W1": ("W1 won by a known list", "W1 有已知解"),
    "W2": ("W2 found by shown text", "W2 可由文本检索"),
    "W3": ("W3 derivable", "W3 可推导"),
    "budget": ("budget kind", "预算种类"),
    "options": ("number of options", "选项数"),
    "domain": ("domain", "领域"),
    "unknown": ("unknown", "未知"),
    "other": ("others, fewer than 5 tasks each", "其他（各少于 5 个任务）"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "clean": ("clean", "干净"),
    "quarantined": ("quarantined", "隔离"),
    "endings": ("How scored episodes ended", "已评分轨迹的结束原因"),
    "reason": ("reason", "原因"),
    "share": ("share", "占比"),
    "floors": ("Floors and ceilings", "下限与上限"),
    "floors_note": (
        "Floors: agents without skill on the same tasks, under the same settings. gold-title alone "
        "is told the title "
        "of the gold product.",
        "下限：无技能智能体在相同任务、相同设置下的成绩；只有 gold-title 被告知目标商品标题。",
    ),
    "rlve_floors_note": (
        "Agents without skill and, as the ceiling, the oracle, once on each key of the run.",
        "无技能智能体在本次运行的每个键上各运行一次；oracle 为上限。",
    ),
    "no_floors": (
        "Floors were not played for this card.",
        "此结果卡没有运行下限智能体。",
    ),
    "ceilings_note": (
        "Ceilings: W1 is the share of tasks that a known list of actions wins under default settings, "
        "over the whole split.",
        "上限：W1 是整个切分中，默认设置下存在已知成功动作序列的任务占比。",
    ),
    "agent": ("agent", "智能体"),
    "this_run": ("this run", "本次运行"),
    "ceiling": ("ceiling", "上限"),
    "all_grades": ("all grades", "全部等级"),
    "split": ("split", "切分"),
    "contamination": ("Contamination", "数据污染"),
    "contamination_note": (
        "What the splits of this run share with other splits of the release (numbers of values). "
        "What the model was "
        "trained on is unknown here: shopsim contamination FILE compares training data with the "
        "held-out splits.",
        "本次切分与其他切分共有的内容（取值个数）。此处无法得知模型的训练数据："
        "请用 shopsim contamination FILE 对照训练数据与留出切分。",
    ),
    "contamination_none": (
        "The run names no split, or the release measured none with it. What the model was trained on "
        "is unknown here: "
        "shopsim contamination FILE compares training data with the held-out splits.",
        "本次运行没有指明切分，或该版本没有相应的测量。此处无法得知模型的训练数据："
        "请用 shopsim contamination FILE 对照训练数据与留出切分。",
    ),
    "behaviour": ("Behaviour and cost", "行为与开销"),
    "steps_mean": ("steps, mean", "平均步数"),
    "invalid_actions": ("refused actions", "被拒动作"),
    "invalid_rate": ("share of refused actions", "被拒动作占比"),
    "protocol_errors": ("protocol errors", "协议错误"),
    "duration_ms_mean": ("duration, mean (ms)", "平均耗时（毫秒）"),
    "duration_ms_p95": ("duration, 95th percentile (ms)", "耗时 95 分位（毫秒）"),
    "prompt_tokens": ("prompt tokens", "输入 token"),
    "completion_tokens": ("completion tokens", "输出 token"),
    "reasoning_tokens": ("reasoning tokens", "推理 token"),
    "total_tokens": ("tokens in all", "token 总数"),
    "method": ("Method", "方法"),
    "method_text": (
        "Intervals are two-sided, 95 %. Wilson intervals take the number of tasks as their size, as "
        "if samples of one "
        "task were copies. Bootstrap: whole tasks drawn with all their episodes, {resamples} times, "
        "seed {seed}, "
        "percentiles. Where all tasks agree a bootstrap interval has no width; read the Wilson "
        "interval then.",
        "区间均为双侧 95%。Wilson 区间以任务数为样本量，即把同一任务的多次采样视为相同。"
        "自助法：以任务为单位整体抽样 {resamples} 次，种子 {seed}，取百分位。"
        "所有任务结果一致时自助区间宽度为零，此时请看 Wilson 区间。",
    ),
    "test_text": (
        "McNemar's exact test counts tasks: gained where the second run succeeds in more of the "
        "paired samples than "
        "the first, lost where in fewer.",
        "McNemar 精确检验以任务计数：配对采样中第二次运行成功更多记为“增”，更少记为“减”。",
    ),
    "runs": ("The two runs", "两次运行"),
    "first": ("A", "A"),
    "second": ("B", "B"),
    "differs": ("What differs", "差异"),
    "differs_none": (
        "Model and prompt settings are the same, or not recorded.",
        "模型与提示词设置相同，或未记录。",
    ),
    "differences": ("Differences, B minus A", "差值（B 减 A）"),
    "difference": ("difference", "差值"),
    "better": ("better", "更好"),
    "equal": ("equal", "相同"),
    "worse": ("worse", "更差"),
    "missing_as_failures": ("missing as failures", "缺失算失败"),
    "differences_legend": (
        "Dot: mean difference over pairs. Line: 95 % bootstrap interval over tasks. Diamond: the "
        "same with missing "
        "episodes as failures.",
        "圆点：配对差值的均值。横线：按任务自助法的 95% 区间。菱形：把缺失轨迹算作失败时的差值。",
    ),
    "pairs": ("pairs", "配对"),
    "only_first": ("scored in A only", "仅 A 有评分"),
    "only_second": ("scored in B only", "仅 B 有评分"),
    "neither": ("scored in neither", "均无评分"),
    "other_seeds": ("pairs with unlike seeds", "种子不同的配对"),
    "gained": ("gained", "增"),
    "lost": ("lost", "减"),
    "tied": ("tied", "平"),
    "p": ("p (McNemar, exact)", "p（McNemar 精确检验）"),
    "task_success": ("Success by task", "按任务的成功变化"),
    "persona": ("persona", "人设"),
    "standard": ("standard", "标准"),
    "single_turn": ("single turn", "单轮"),
    "multi_turn": ("multi-turn", "多轮"),
    "difficulty": ("difficulty", "难度"),
    "no_value": ("none", "无"),
}


class Words:
    """The words of one language; what has no word is said as it is."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._place = LANGUAGES.index(language)

    def __getitem__(self, key: str) -> str:
        return _WORDS[key][self._place]

    def name(self, key: str) -> str:
        """The word of a name that comes from data, or the name itself."""
        found = _WORDS.get(key)
        return key if found is None else found[self._place]
