// What both pages share: making elements, words, theme, token, requests. Text from anywhere becomes text nodes
// only; there is no way here from a string to markup, to an address or to a script.

const ATTRIBUTES = new Set([
  "aria-current", "aria-describedby", "aria-hidden", "aria-label", "aria-labelledby", "aria-live", "aria-sort", "autocomplete",
  "class", "colspan", "cx", "cy", "fill", "for", "height", "id", "inputmode", "lang", "list", "max", "maxlength", "name",
  "placeholder", "role", "rows", "scope", "size", "spellcheck", "tabindex", "title", "type", "value", "viewBox", "width",
  "x", "x1", "x2", "y", "y1", "y2", "text-anchor", "r", "d", "open", "disabled", "checked", "selected", "readonly",
]);
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value === true) {
      element.setAttribute(checked(name), "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(checked(name), String(value));
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function checked(name) {
  if (!ATTRIBUTES.has(name)) throw new Error(`attribute ${name} is not set by these pages`);
  return name;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = (id) => document.getElementById(id);
export const put = (element, ...children) => {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};

// Characters that show nothing or change the order of others: shown by their number instead.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;

export function visible(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) found.push(text.slice(end, match.index));
    const code = `U+${match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    found.push(h("span", { class: "mark" }, code));
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push(text.slice(end));
  return found;
}

export const foreign = (text) => h("bdi", { lang: "zh" }, visible(String(text)));
export const block = (text, label) => h("pre", { tabindex: 0, lang: "zh", role: "region", "aria-label": label }, visible(String(text)));
export const json = (value, label) => block(JSON.stringify(value, null, 2), label);

// --- words -------------------------------------------------------------------------------------------------

let words = {};
let language = "en";
const redraws = [];

export function w(key, values = {}) {
  const row = words[key];
  if (!row) throw new Error(`there is no word ${key}`);
  return row[language].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// A code of the server in words, or the code itself.
export const known = (prefix, code) => (Object.hasOwn(words, `${prefix}.${code}`) ? w(`${prefix}.${code}`) : String(code));

export const onRedraw = (redraw) => redraws.push(redraw);

function applyWords() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = w(document.body.dataset.title);
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = w(element.dataset.word);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", w(element.dataset.label));
  for (const element of document.querySelectorAll("[data-hint]")) element.setAttribute("placeholder", w(element.dataset.hint));
  for (const redraw of redraws) redraw();
}

// --- what is kept in this browser ------------------------------------------------------------------------------

function kept(store, name, value) {
  try {
    if (value === undefined) return store().getItem(`shopsim-${name}`);
    if (value === "") store().removeItem(`shopsim-${name}`);
    else store().setItem(`shopsim-${name}`, value);
  } catch {
    // A browser that keeps nothing is fine; choices last as long as the page.
  }
  return null;
}
const local = (name, value) => kept(() => localStorage, name, value);
const session = (name, value) => kept(() => sessionStorage, name, value);

let token = "";
export const hasToken = () => token !== "";

// --- requests --------------------------------------------------------------------------------------------------

export class Refusal extends Error {
  constructor(code, detail) {
    super(detail);
    this.code = code;
  }
}

async function ask(method, path, body, more) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store", ...more });
  } catch {
    throw new Refusal("unreachable", w("unreachable"));
  }
}

export async function call(method, path, body, more = {}) {
  const answer = await ask(method, path, body, more);
  const found = await answer.json();
  if (!answer.ok) throw new Refusal(found.code, found.detail);
  return found;
}

// The bytes of an answer as text: numbers that are read and written again may look otherwise.
export async function callText(path) {
  const answer = await ask("GET", path, undefined, {});
  if (answer.ok) return answer.text();
  const found = await answer.json();
  throw new Refusal(found.code, found.detail);
}

export const query = (fields) => {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== null && value !== undefined && value !== "") found.set(name, value);
  return found.toString();
};

export function refused(error) {
  if (!(error instanceof Refusal)) throw error;
  return h("p", { class: "note bad" }, `${error.code}: `, visible(error.message));
}

// --- head of the page --------------------------------------------------------------------------------------------

function choice(word, value, options, changed) {
  const select = h("select", { on: { change: () => changed(select.value) } }, options.map(([code, name]) => {
    const option = h("option", { value: code });
    if (name.startsWith("word:")) option.dataset.word = name.slice(5);
    else option.textContent = name;
    return option;
  }));
  select.value = value;
  const text = h("span");
  text.dataset.word = word;
  return h("label", {}, text, select);
}

function theme(value) {
  if (value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
}

function head(changedToken) {
  const field = h("input", { type: "password", autocomplete: "off", maxlength: 200, size: 12, on: { change: () => {
    token = /^[\x21-\x7e]*$/.test(field.value) ? field.value : "";
    session("token", token);
    changedToken();
  } } });
  field.value = token;
  const text = h("span");
  text.dataset.word = "token";
  put(byId("tools"), h("form", { class: "tools", on: { submit: (event) => event.preventDefault() } },
    choice("language", language, [["zh", "中文"], ["en", "English"]], (value) => {
      language = value;
      local("language", value);
      applyWords();
    }),
    choice("theme", local("theme") ?? "auto", [["auto", "word:theme.auto"], ["light", "word:theme.light"], ["dark", "word:theme.dark"]], (value) => {
      theme(value);
      local("theme", value);
    }),
    h("label", {}, text, field)));
}

export async function start(changedToken) {
  theme(["light", "dark"].includes(local("theme")) ? local("theme") : "auto");
  token = session("token") ?? "";
  language = local("language") ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  if (!["zh", "en"].includes(language)) language = "en";
  words = await (await fetch("ui/words.json")).json();
  head(changedToken);
  applyWords();
}

// --- small things --------------------------------------------------------------------------------------------------

export const say = (text) => { byId("said").textContent = text; };

export const drawTrouble = (view) => put(byId("trouble"), view.trouble ? refused(view.trouble) : null);

export async function guard(view, work) {
  // A refusal of the server is shown; anything else is a fault of the page and goes on to the console.
  view.trouble = null;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    view.trouble = error;
  }
  drawTrouble(view);
}

export function copyButton(word, text) {
  const button = h("button", { type: "button", on: { click: async () => {
    try {
      await navigator.clipboard.writeText(text());
      say(w("copied"));
    } catch {
      say(w("copy.refused"));
    }
  } } }, w(word));
  return button;
}

export const figure = (value, digits = 3) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en-US", { maximumFractionDigits: digits }));

export function grid(caption, heads, rows, silent = false) {
  const cell = (value, column, place) => {
    const number = heads[place].number;
    return h("td", number ? { class: "number" } : {}, value instanceof Node ? value : typeof value === "number" || value === null ? figure(value, 4) : foreign(value));
  };
  return h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": caption }, h("table", {},
    h("caption", { class: silent ? "silent" : null }, caption),
    h("thead", {}, h("tr", {}, heads.map((item) => h("th", { scope: "col", class: item.number ? "number" : null, "aria-sort": item.sort }, item.head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, place) => cell(value, row, place)))))));
}

export function fold(title, make, open = false) {
  // What is folded is made when it is opened: a long episode has megabytes of it.
  const details = h("details", {}, h("summary", {}, title));
  const fillIn = () => { if (details.open && details.childElementCount === 1) details.append(make()); };
  details.addEventListener("toggle", fillIn);
  if (open) {
    details.open = true;
    fillIn();
  }
  return details;
}

// Gives a text to the browser as a file. The only address made here is that of the text itself.
export function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.setAttribute("href", address);
  link.setAttribute("download", name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export const option = (value, text) => h("option", { value }, text);
