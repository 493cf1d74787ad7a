"""Which test holds a case of cases/rlve.json that no function answers, and which are decided otherwise.

Belongs here: ids and names of tests alone; `test_rlve_cases.py` sees that every case is accounted for.
"""

_UNIT, _WHOLE = "tests/unit/shopsim_env/rlve", "tests/integration"
_CUSTOMER = f"{_UNIT}/customer/test_rlve_customer.py"
_CART_TOOLS = f"{_UNIT}/tools/test_rlve_tools_cart.py"
_CATALOG = f"{_UNIT}/tools/test_rlve_tools_catalog.py"
_RUNNING = f"{_UNIT}/tools/test_rlve_tools_running.py"
_PANEL = f"{_WHOLE}/test_rlve_panel.py::test_a_slice_of_the_panel_holds"
_GOALS = "tests/property/test_order_goals_properties.py"
_AXES, _GOODS = f"{_WHOLE}/test_rlve_axes.py", f"{_WHOLE}/test_rlve_goods.py"
_CASES, _CARTS = f"{_WHOLE}/test_rlve_case_episodes.py", f"{_UNIT}/envs/test_rlve_cart.py"
_ORDERED = "test_every_order_that_is_asked_for_is_the_only_one_that_is_described"
_POLICY = "tests/property/test_policy_properties.py"
_PROCESSES = f"{_WHOLE}/test_rlve_env.py::test_the_same_transcripts_in_any_process"
ELSEWHERE = {
    "user-no-placeholder": f"{_CASES}::test_no_opening_has_a_gap",
    "tool-visit-history": f"{_CASES}::test_the_visit_history_of_level_6",
    "tool-search-large-topk": f"{_CASES}::test_a_search_outside_an_episode_gives_as_many_hits_as_asked_for",
    "eff-no-free-loop": f"{_CASES}::test_asking_the_same_again_and_again_costs_turns",
    "axes-effective": f"{_AXES}::test_p_switch_has_the_customer_change_its_mind_or_the_subject",
    "bun-solvable": f"{_GOODS}::test_a_bundle_is_feasible_and_its_cheapest_products_are_not",
    "det-date": f"{_CASES}::test_no_module_of_an_episode_reads_a_clock_or_global_draws",
    "det-hash-seed": _PROCESSES,
    "det-order-independent": _PROCESSES,
    "det-parallel": _PROCESSES,
    "det-replay": f"{_WHOLE}/test_rlve_env.py::test_traces_are_played_again_byte_for_byte",
    "elig-after": f"{_UNIT}/overlay/test_overlay_returns.py::test_windows_and_reasons",
    "elig-cancelled": f"{_UNIT}/overlay/test_overlay_returns.py::test_windows_and_reasons",
    "jour-introduces-all": f"{_CASES}::test_a_journey_brings_up_every_part",
    "pd-pass-reachable": _PANEL,
    "pd-random-id-must-fail": _PANEL,
    "pol-diversity-d6": f"{_POLICY}::test_answers_are_spread_and_no_rule_comes_twice",
    "ret-same-world": f"{_GOALS}::test_every_returned_line_is_the_only_one_that_is_described",
    "ret-solvable": _PANEL,
    "sched-persist": f"{_UNIT}/test_schedule_file.py::test_a_reload_gives_the_same_state_and_the_same_draws",
    "sched-cart-can-leave-zero": f"{_CASES}::test_a_perfect_cart_leaves_level_0",
    "seen-guess": f"{_RUNNING}::test_a_guessed_id_is_not_found_and_not_seen",
    "seen-sources": f"{_UNIT}/overlay/test_overlay_ids.py::test_each_source_makes_an_id_seen",
    "sub-monotone": _PANEL,
    "sub-pass-reachable": f"{_GOODS}::test_any_best_substitutes_succeed_and_nothing_else",
    "depth-cap": f"{_AXES}::test_top_k_is_the_depth_of_a_search",
    "tool-add-default": f"{_CART_TOOLS}::test_quantity_is_one_by_default",
    "tool-add-merge": f"{_CART_TOOLS}::test_the_same_variant_shares_a_line",
    "tool-add-stock": f"{_CART_TOOLS}::test_stock_is_checked",
    "tool-add-stock-accumulated": f"{_CART_TOOLS}::test_stock_is_checked_across_variants",
    "tool-add-unknown-product": f"{_RUNNING}::test_a_guessed_id_is_not_found_and_not_seen",
    "tool-budget": f"{_WHOLE}/test_rlve_episode.py::test_a_call_above_the_budget_is_not_executed",
    "tool-checkout-empty": f"{_CART_TOOLS}::test_checkout",
    "tool-datetime": f"{_RUNNING}::test_policy_clock_and_history",
    "tool-line-ids": f"{_CART_TOOLS}::test_line_ids_are_not_used_again",
    "tool-order-list-window": f"{_UNIT}/tools/test_rlve_tools_orders.py::test_the_list_holds_the_cut_off_day",
    "tool-rerank-unknown": f"{_CATALOG}::test_rerank_skips_unknown_ids_and_keeps_the_rest",
    "tool-return-fee": f"{_UNIT}/tools/test_rlve_tools_orders.py::test_fees",
    "tool-search-filter-first": f"{_CATALOG}::test_filters_come_before_ranking",
    "tool-search-noise-respects-filter": f"{_CATALOG}::test_noise_keeps_filters_and_never_repeats",
    "tool-search-topk-bounds": f"{_RUNNING}::test_bounds_of_top_k_are_legal",
    "tool-setqty-zero": f"{_CART_TOOLS}::test_lines_change_and_go",
    "user-identifies-order": f"{_GOALS}::{_ORDERED}",
    "user-no-goal-leak": f"{_CARTS}::test_half_a_cart_is_no_mistake_and_a_whole_one_is_confirmed",
    "user-noise-d0": f"{_CUSTOMER}::test_no_typing_errors_at_difficulty_0",
    "user-noise-protects-ids": f"{_UNIT}/customer/test_rlve_noise.py::test_what_is_never_touched",
    "user-omitted-revealed": f"{_CUSTOMER}::test_asking_for_the_omitted_fact_gets_it",
    "user-quit-recovering": f"{_CUSTOMER}::test_two_bad_turns_in_a_row_and_it_leaves",
    "user-quit-two-bad": f"{_CUSTOMER}::test_two_bad_turns_in_a_row_and_it_leaves",
    "var-category-priority": f"{_UNIT}/overlay/test_overlay_variants.py::test_the_category_says_what_varies",
    "var-info-reachable": f"{_GOALS}::test_the_oracle_succeeds_in_no_more_turns_than_the_goal_says",
}  # fmt: skip
DIFFERENT = {
    "phi-sim": "likeness is counted in points of public attributes, there are no embeddings",
    "pol-text-case": "answers are typed; there is no free text whose case could differ",
}
