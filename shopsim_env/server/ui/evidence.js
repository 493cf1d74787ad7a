// Reward and evidence, as both pages show them.

import { figure, foreign, grid, h, json, fold, known, w } from "./common.js";

const COMPONENTS = ["r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price"];

export function result(final) {
  const detail = final.reward_detail ?? {};
  const rows = COMPONENTS.filter((name) => name in detail).map((name) => [h("code", {}, name), w(`component.${name}`), detail[name]]);
  const asin = "target_asin_match" in detail ? w(detail.target_asin_match ? "asin.same" : "asin.other") : null;
  return h("section", { class: "panel", "aria-label": w("result") },
    h("h2", {}, w("result")),
    h("dl", { class: "cards" },
      card(w("reward"), figure(final.reward, 4)),
      card(w("ended"), known("reason", final.termination_reason ?? "none")),
      asin && card(w("product"), asin),
      final.purchase && card(w("price"), figure(final.purchase.price, 2))),
    rows.length ? grid(w("components"), [{ head: w("name") }, { head: w("meaning") }, { head: w("value"), number: true }], rows) : null,
    final.purchase ? fold(w("purchase"), () => json(final.purchase, w("purchase"))) : null,
    fold(w("detail"), () => json(detail, w("detail"))));
}

export const card = (name, value, more) => h("div", { class: "card" }, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, ` ${more}`) : null));

const met = (yes) => h("span", { class: `badge ${yes ? "good" : "bad"}` }, w(yes ? "met" : "unmet"));

function side(title, product) {
  const values = (axis) => axis.values.map((item) => {
    const marks = [item.gold && w("gold"), item.chosen && w("chosen")].filter(Boolean).join(" · ");
    return h("li", {}, foreign(item.value), marks ? h("span", { class: "badge" }, marks) : null);
  });
  const list = (axis) => {
    const found = values(axis);
    const first = h("ul", { class: "values" }, found.slice(0, 12));
    return found.length > 12 ? [first, fold(w("more", { n: found.length - 12 }), () => h("ul", { class: "values" }, found.slice(12)))] : first;
  };
  return h("section", { class: "panel", "aria-label": title }, h("h3", {}, title),
    grid(w("facts"), [{ head: w("name") }, { head: w("value") }], [
      ["ASIN", product.asin], [w("title"), product.title], [w("brand"), product.brand],
      [w("category"), product.category], [w("listing"), product.price], [w("attributes"), product.attributes.join(" · ")]], true),
    product.axes.map((axis) => [h("h4", {}, foreign(axis.name)), list(axis)]));
}

export function comparison(found) {
  const unit = found.budget_upper === null ? w("budget.none") : `≤ ${figure(found.budget_upper, 2)}`;
  return h("section", { class: "stack", "aria-label": w("evidence") },
    h("section", { class: "panel" }, h("h2", {}, w("evidence")),
      h("blockquote", {}, foreign(found.instruction)),
      h("p", {}, `${w("budget")}: ${unit} (${found.budget_kind})`),
      found.bought ? [
        grid(w("options.required"), [{ head: w("required") }, { head: w("met") }, { head: w("tried") }],
          found.options.map((item) => [item.required, met(item.met), item.tried.map((one) => `${one.axis}=${one.value} (${one.why})`).join(" · ")])),
        grid(w("attributes.required"), [{ head: w("required") }, { head: w("met") }],
          found.attributes.map((item) => [item.target, met(item.met)])),
        fold(w("price"), () => json(found.price, w("price"))),
      ] : h("p", {}, w("nothing.bought"))),
    h("div", { class: "columns" }, side(w("gold"), found.gold), found.bought ? side(w("bought"), found.bought) : null));
}
