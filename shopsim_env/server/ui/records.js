// Results of tools, and goals, as tables: whatever JSON there is, without a table for each tool.

import { figure, fold, foreign, grid, h, json, known, visible, w } from "./common.js";

const MOST_ROWS = 8;
const isTable = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => one && typeof one === "object" && !Array.isArray(one));
const head = (name) => known("column", name);

// A value in one cell.
function words(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return w(value ? "form.true" : "form.false");
  if (Array.isArray(value)) return value.map(words).join(" · ") || "–";
  if (typeof value === "object") return Object.entries(value).map(([name, one]) => `${head(name)}: ${words(one)}`).join("; ") || "–";
  return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toFixed(4))) : String(value);
}

const pressed = (offered) => (offered.length ? h("div", { class: "row" }, offered.map(([text, use]) => h("button", { type: "button", class: "small", on: { click: use } }, text))) : null);
const pairs = (entries) => h("dl", { class: "pairs" }, entries.map(([name, one]) => h("div", {}, h("dt", {}, head(name)), h("dd", {}, foreign(words(one))))));

// Rules and products are read, not compared by columns: each is a card.
function cards(rows, uses, id, text) {
  const one = (row) => {
    const { [id]: name, title, [text]: sentence, score, family, rules_in_family, rule, ...rest } = row;
    return h("li", { class: "entry" }, h("p", {}, h("code", {}, name), " ", h("strong", {}, foreign(title))), sentence === undefined ? null : h("p", {}, foreign(sentence)),
      Object.keys(rest).length ? pairs(Object.entries(rest)) : null, pressed(uses ? uses(row) : []));
  };
  const list = (some) => h("ul", { class: "entries" }, some.map(one));
  return rows.length <= MOST_ROWS ? list(rows) : [list(rows.slice(0, MOST_ROWS)), fold(w("more", { n: rows.length - MOST_ROWS }), () => list(rows.slice(MOST_ROWS)))];
}

function table(title, rows, uses) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.some((row) => row[name] !== null));
  const heads = names.map((name) => ({ head: head(name), number: rows.every((row) => typeof (row[name] ?? 0) === "number") }));
  const cells = (row) => names.map((name) => (typeof row[name] === "number" ? row[name] : words(row[name])));
  const offered = uses ? rows.map(uses) : [];
  const buttons = offered.some((list) => list.length);
  const line = (row, place) => [...(buttons ? [pressed(offered[place])] : []), ...cells(row)];
  const shown = (list, from) => grid(title, buttons ? [{ head: w("rlve.use") }, ...heads] : heads, list.map((row, place) => line(row, from + place)));
  if (rows.length <= MOST_ROWS) return shown(rows, 0);
  return [shown(rows.slice(0, MOST_ROWS), 0), fold(w("more", { n: rows.length - MOST_ROWS }), () => shown(rows.slice(MOST_ROWS), MOST_ROWS))];
}

// A JSON object: its scalars side by side, its lists of objects as tables. `uses` gives the buttons of a row.
export function record(value, uses, title = "") {
  const plain = Object.entries(value).filter(([, one]) => !isTable(one));
  return [
    plain.length ? pairs(plain) : null,
    Object.entries(value).filter(([, one]) => isTable(one)).map(([name, rows]) => listed(name, rows, uses, title)),
  ];
}

function listed(name, rows, uses, title) {
  if (name === "parts") return rows.map((part) => h("section", { class: "stack tight" }, h("h4", {}, known("env", part.env_id), " ", mark(part.success)), record(part.goal, null, part.env_id)));
  if (name === "snippets") return cards(rows, uses, "snippet_id", "text");
  if (name === "products") return cards(rows, uses, "product_id", "description");
  return table(`${title}${title && " · "}${head(name)}`, rows, uses);
}

export const mark = (yes) => h("span", { class: `badge ${yes ? "good" : "bad"}` }, w(yes ? "rlve.success" : "rlve.failure"));

// One call with what came of it.
export function called({ name, args, result }, uses) {
  const refusal = result.error;
  const given = Object.keys(args).length ? words(args) : "";
  const empty = !refusal && Object.values(result).some((one) => Array.isArray(one) && !one.length);
  return h("section", { class: "called" },
    h("p", {}, h("code", {}, name), " ", h("span", { class: "quiet" }, foreign(given))),
    refusal ? h("p", { class: "bad" }, `${refusal.code}: `, visible(refusal.message)) : record(result, uses, name),
    empty ? h("p", { class: "quiet" }, w("none")) : null,
    fold("JSON", () => json({ name, args, result }, `${name} JSON`)));
}

export const share = (value) => figure(value, 3);
