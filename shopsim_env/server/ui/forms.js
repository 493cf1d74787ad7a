// Forms out of JSON schemas: what is typed is kept as it is in an object, and read when the turn is sent.

import { h, known, option, put, visible, w } from "./common.js";

const shape = (part) => (part.anyOf ? part.anyOf.find((one) => one.type !== "null") : part);
const label = (name, part, required) => [h("span", {}, h("code", {}, name), required ? ` · ${w("form.needed")}` : null), h("span", {}, visible(part.description ?? ""))];

// One field. `lists` says which datalist offers values for a name.
function field(name, part, values, required, lists) {
  const kind = shape(part);
  if (name === "policy_answer") return policyAnswer(part, values);
  if (kind.type === "object" && kind.properties) {
    values[name] ??= {};
    return h("fieldset", {}, h("legend", {}, h("code", {}, name), " ", visible(part.description ?? "")), h("div", { class: "fields wide" }, fields(kind, values[name], lists)));
  }
  return h("label", { class: "field" }, label(name, part, required), control(name, kind, values, lists));
}

function control(name, kind, values, lists) {
  if (kind.enum || kind.type === "boolean") {
    const choices = kind.enum ?? ["true", "false"];
    return choice(values, name, [["", "–"], ...choices.map((value) => [value, kind.enum ? value : w(`form.${value}`)])]);
  }
  const kept = values[name] ?? (kind.default === undefined || kind.default === null ? "" : String(kind.default));
  values[name] = kept;
  const keep = (event) => { values[name] = event.target.value; };
  if (kind.type === "object") return h("textarea", { rows: 2, spellcheck: "false", placeholder: w("form.pairs"), on: { input: keep } }, kept);
  const number = kind.type === "integer" || kind.type === "number";
  const hint = kind.type === "array" ? w("form.many") : null;
  return h("input", { value: kept, autocomplete: "off", spellcheck: "false", maxlength: 4000, inputmode: number ? "decimal" : null, list: lists.has(name) ? `known-${name}` : null, placeholder: hint, on: { input: keep } });
}

function choice(values, name, rows, changed = () => {}) {
  const select = h("select", { on: { change: () => {
    values[name] = select.value;
    changed();
  } } }, rows.map(([value, text]) => option(value, text)));
  select.value = values[name] ?? "";
  return select;
}

// The answer of a policy question: what the value looks like follows from the kind.
function policyAnswer(part, values) {
  const typed = (values.policy_answer ??= {});
  const more = h("div", { class: "fields wide" });
  const text = (name, word, mode) => h("label", { class: "field" }, h("span", {}, w(word)), h("input", { value: typed[name] ?? "", autocomplete: "off", maxlength: 40, inputmode: mode, on: { input: (event) => { typed[name] = event.target.value; } } }));
  const draw = () => put(more,
    ["amount", "days", "percent"].includes(typed.kind) ? text("value", "form.number", "decimal") : null,
    typed.kind === "amount" ? text("currency", "form.currency", null) : null,
    typed.kind === "yes_no" ? h("label", { class: "field" }, h("span", {}, w("value")), choice(typed, "value", [["", "–"], ["true", w("form.true")], ["false", w("form.false")]])) : null);
  const kinds = part.properties.kind.enum.map((kind) => [kind, known("policy", kind)]);
  const select = choice(typed, "kind", [["", "–"], ...kinds], () => {
    typed.value = "";
    draw();
  });
  draw();
  return h("fieldset", {}, h("legend", {}, h("code", {}, "policy_answer"), " ", visible(part.description)), h("div", { class: "fields wide" }, h("label", { class: "field" }, h("span", {}, w("form.kind")), select)), more);
}

export function fields(schema, values, lists) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, part]) => field(name, part, values, required.has(name), lists));
}

const NUMBER = /^-?\d+(\.\d+)?$/;
const numeric = (text) => (NUMBER.test(text.trim()) ? Number(text) : text.trim());

function readOne(kind, value) {
  if (kind.type === "object" && kind.properties) {
    const found = read(kind, value);
    return Object.keys(found).length ? found : undefined;
  }
  if (typeof value !== "string" || value.trim() === "") return undefined;
  if (kind.type === "boolean") return value === "true";
  if (kind.type === "integer" || kind.type === "number") return numeric(value);
  if (kind.type === "array") return value.split(/[\s,，、]+/).filter(Boolean);
  if (kind.type === "object") return pairs(value);
  return value.trim();
}

// "name=value" on each line; what is no pair goes as it is, so that the server can say what is wrong.
function pairs(text) {
  return Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
    const [name, ...rest] = line.split(/[=:：]/);
    return [name.trim(), numeric(rest.join("="))];
  }));
}

function readPolicy({ kind, value = "", currency = "" }) {
  if (!kind) return undefined;
  const found = { kind };
  if (kind === "yes_no") found.value = value === "true" ? true : value === "false" ? false : null;
  else if (kind !== "not_covered") found.value = value.trim();
  if (kind === "amount") found.currency = currency.trim();
  return found;
}

// The JSON value of a form; fields that were left empty are left out. Texts that must be there stay, also empty.
export function read(schema, values) {
  const found = {};
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const kind = shape(part);
    const value = name === "policy_answer" ? readPolicy(values[name] ?? {}) : readOne(kind, values[name]);
    if (value !== undefined) found[name] = value;
    else if ((schema.required ?? []).includes(name) && kind.type === "string") found[name] = "";
  }
  return found;
}

// Datalists of what was seen, by the name of the field that takes it: [value, text] each.
export const datalists = (seen) => [...seen].map(([name, rows]) => h("datalist", { id: `known-${name}` }, [...rows].map(([value, text]) => option(value, text))));
