// Playground: a person is the agent of a conversation. The goal is asked for after the end, not before.

import { Refusal, byId, call, callText, copyButton, foreign, guard, h, known, onRedraw, option, put, query, refused, save, say, start, visible, w } from "./common.js";
import { answerOf, answered, goalParts, rewardCards } from "./conversation.js";
import { datalists, fields, read } from "./forms.js";
import { called, mark } from "./records.js";

const MOST_TURNS = 200;
const view = { info: {}, episode: null, observation: null, end: null, turns: [], played: [], goal: null, trouble: null, fault: null, busy: false, sent: 0 };
let draft = {};
let seen = new Map();

const FIRST_TOOL = { CART: "user.get_visit_history", RETURN: "order.list", STATUS: "order.list", POLICY: "policy.search" };
const blank = (tool) => ({ message: "", tool, args: {}, touched: false, calls: [], answer: {}, done: false });
const language = () => document.documentElement.lang.slice(0, 2);
const about = () => view.info[language()];

const guarded = (work) => guard(view, work);

// --- episode ----------------------------------------------------------------------------------------------------

async function load() {
  for (const name of ["zh", "en"]) view.info[name] ??= await call("GET", `v1/rlve?${query({ language: name })}`);
}

function number(id, most) {
  const text = byId(id).value.trim();
  if (!/^\d{1,15}$/.test(text) || Number(text) > most) throw new Refusal(id, w("rlve.number", { name: w(`rlve.${id}`), most }));
  return Number(text);
}

const wanted = () => ({ env_id: byId("env").value, difficulty: number("difficulty", about().max_difficulty), seed: number("seed", 1e15), language: byId("customer").value });

async function giveBack() {
  const lease = view.episode;
  view.episode = null;
  if (lease) await call("DELETE", `v1/rlve/episodes/${lease.lease_id}`);
}

async function open(key, turns = [], strict = false) {
  await giveBack();
  const id = Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const episode = await call("POST", "v1/rlve/episodes", { ...key, strict, tools: "none", wait_s: 20, request_id: id });
  Object.assign(view, { episode, observation: episode.observation, end: null, turns: [], played: [], goal: null, fault: null, equal: null });
  draft = blank(FIRST_TOOL[key.env_id] ?? "catalog.search");
  seen = new Map();
  for (const turn of turns) {
    if (view.end) break;
    await play(turn);
  }
  shown();
  byId("talk_heading")?.focus();
}

// A recorded episode is played again; its record holds what the observations were, as hashes.
async function openTrace(text) {
  let found;
  try {
    found = JSON.parse(text.trim().split("\n")[0]);
  } catch {
    found = null;
  }
  if (found?.schema !== "shopsim-rlve-trace-v1") throw new Refusal("trace", w("rlve.trace.wrong"));
  await open(found.key, found.actions, found.strict);
  const again = await call("GET", `v1/rlve/episodes/${view.episode.lease_id}/trace`);
  view.equal = JSON.stringify([found.release, found.observations, found.reward]) === JSON.stringify([again.release, again.observations, again.reward]);
  draw();
}

async function play(turn) {
  const { lease_id, fence } = view.episode;
  const answer = await call("POST", `v1/rlve/episodes/${lease_id}/step`, { turn, fence, request_id: String(++view.sent) });
  view.fault = answer.info.fault ?? null;
  view.observation = answer.observation;
  if (view.fault && !answer.done) return;
  view.turns.push(turn);
  if (!view.fault) {
    view.played.push(answer.observation.tool_results);
    for (const one of answer.observation.tool_results) notice(one.result);
  }
  draft = { ...blank(draft.tool), answer: draft.answer };
  if (answer.done) {
    view.end = answer.info;
    view.goal = await call("GET", `v1/rlve/episodes/${lease_id}/goal`);
  }
}

// Ids that were shown, offered where a field takes one.
function notice(value) {
  if (Array.isArray(value)) value.forEach(notice);
  if (!value || typeof value !== "object") return;
  for (const [name, one] of Object.entries(value)) {
    if (/^(product|order|line|variant)_id$|^(shipping_address|payment_method)_id$/.test(name) && typeof one === "string") {
      for (const taking of [name, `new_${name}`, `selected_${name}`]) {
        if (!seen.has(taking)) seen.set(taking, new Map());
        seen.get(taking).set(one, [value.title, value.value, value.status].filter((text) => typeof text === "string").join(" · ") || one);
      }
    } else {
      notice(one);
    }
  }
}

function answerSchema() {
  const { properties: { done, ...rest } } = about().environments.find((env) => env.id === view.episode.key.env_id).answer;
  return { properties: rest };
}

function turnOf() {
  const turn = { assistant_message: draft.message.trim() || w(draft.done ? "rlve.said.done" : "rlve.said.working") };
  if (draft.calls.length) turn.tool_calls = draft.calls;
  if (draft.done) turn.answer = { ...read(answerSchema(), draft.answer), done: true };
  return turn;
}

async function send() {
  if (view.busy || !view.episode || view.end) return;
  view.busy = true;
  // Whoever has filled in a call and sends the turn means the call too.
  if (draft.touched && draft.calls.length < view.observation.tool_budget) addTyped();
  await guarded(() => play(turnOf()));
  view.busy = false;
  shown();
  if (view.fault) say(w("rlve.refused"));
  else say(view.end ? w("rlve.over") : w("rlve.turns.left", { left: view.observation.turns_left }));
  byId(view.end ? "result_heading" : "latest")?.focus();
}

function shown() {
  const { env_id, difficulty, seed, language: customer, overrides } = view.episode.key;
  const axes = Object.keys(overrides).length ? JSON.stringify(overrides) : null;
  const turns = view.turns.length ? `#${encodeURIComponent(JSON.stringify(view.turns))}` : "";
  history.replaceState(null, "", `?${query({ env: env_id, difficulty, seed, language: customer, overrides: axes })}${turns}`);
  draw();
}

// --- drawing -------------------------------------------------------------------------------------------------------

function addCall(name, args) {
  if (draft.calls.length >= view.observation.tool_budget) {
    say(w("rlve.budget.full", { n: view.observation.tool_budget }));
    return;
  }
  draft.calls.push({ name, args });
  say(w("rlve.queued", { name }));
  drawComposer();
}

// The call that the form holds.
function addTyped() {
  const { tool, args } = draft;
  Object.assign(draft, { args: {}, touched: false });
  addCall(tool, read(about().tools.find(({ name }) => name === tool).schema, args));
}

function intoAnswer(name, value) {
  const part = answerSchema().properties[name];
  const former = part.type === "array" ? (draft.answer[name] ?? "").split(/[\s,，、]+/).filter((id) => id && id !== value) : [];
  draft.answer[name] = [...former, value].join(" ");
  draft.done = true;
  say(w("rlve.into.answer.done", { value }));
  drawComposer();
}

// Buttons of a row of a result: the calls and the parts of an answer that its ids are good for.
function uses(row) {
  if (view.end) return [];
  const answers = answerSchema().properties;
  const queue = (word, name, args) => [w(word), () => addCall(name, args)];
  const take = (name, value) => (name in answers ? [[w("rlve.into.answer"), () => intoAnswer(name, value)]] : []);
  if (row.snippet_id) return take("policy_rule_id", row.snippet_id);
  if (row.variant_id && !row.line_id) return [queue("rlve.add.cart", "cart.add", { product_id: row.product_id, variant_id: row.variant_id })];
  if (row.line_id?.startsWith("ord_")) return [queue("rlve.check.return", "return.check_eligibility", { order_id: row.line_id.replace(/_line_\d+$/, ""), line_id: row.line_id }), ...take("selected_line_id", row.line_id)];
  if (row.line_id) return [queue("rlve.remove", "cart.remove", { line_id: row.line_id })];
  if (row.order_id) return [queue("rlve.look", "order.get_status", { order_id: row.order_id }), ...take("selected_order_id", row.order_id)];
  if (row.product_id) return [queue("rlve.look", "catalog.get_product", { product_id: row.product_id }), queue("rlve.variants", "catalog.get_variants", { product_id: row.product_id }), ...take("recommended_product_ids", row.product_id)];
  return [];
}

function talk() {
  let turn = -1;
  const { conversation } = view.observation;
  return conversation.map(({ role, content }, place) => {
    const agent = role === "assistant";
    if (agent) turn += 1;
    const results = agent ? view.played[turn] ?? [] : [];
    const answer = agent ? answerOf(view.turns[turn]) : null;
    return h("article", { class: `said ${role}`, id: place === conversation.length - 1 ? "latest" : null, tabindex: -1 }, h("h3", {}, w(`rlve.${role}`)), h("p", {}, foreign(content)),
      results.map((one) => called(one, turn === view.played.length - 1 ? uses : null)),
      answered(answer));
  });
}

function toolForm() {
  const tools = about().tools;
  const tool = tools.find(({ name }) => name === draft.tool);
  const select = h("select", { id: "tool", "aria-label": w("rlve.tool"), on: { change: () => {
    Object.assign(draft, { tool: select.value, args: {}, touched: false });
    drawComposer();
    byId("tool").focus();
  } } }, tools.map(({ name, about: text }) => option(name, `${name} · ${text}`)));
  select.value = draft.tool;
  const full = draft.calls.length >= view.observation.tool_budget;
  return h("form", { class: "stack tight", id: "tool_form", on: { submit: (event) => {
    event.preventDefault();
    addTyped();
  }, input: (event) => { draft.touched ||= event.target.id !== "tool"; } } },
    h("h3", {}, w("rlve.calls", { n: draft.calls.length, most: view.observation.tool_budget })),
    draft.calls.length ? h("ol", { class: "turns" }, draft.calls.map(({ name, args }, place) => h("li", {}, h("code", {}, name), " ", foreign(JSON.stringify(args)), " ",
      h("button", { type: "button", class: "small", "aria-label": w("rlve.drop.call", { name }), on: { click: () => {
        draft.calls.splice(place, 1);
        drawComposer();
      } } }, "×")))) : null,
    select, h("div", { class: "fields wide" }, fields(tool.schema, draft.args, seen)),
    h("div", { class: "row" }, h("button", { id: "add_call", disabled: full }, w("rlve.add.call"))));
}

function answerForm() {
  const tick = h("input", { type: "checkbox", id: "done", checked: draft.done, on: { change: () => {
    draft.done = tick.checked;
    drawComposer();
    byId("done").focus();
  } } });
  return h("section", { class: "stack tight", id: "answer_form" }, h("h3", {}, w("rlve.answer")),
    h("label", { class: "tick" }, tick, h("span", {}, w("rlve.done"))),
    draft.done ? h("div", { class: "fields wide" }, fields(answerSchema(), draft.answer, seen)) : null);
}

function composer() {
  const message = h("textarea", { id: "message", rows: 3, maxlength: 8000, placeholder: w(draft.done ? "rlve.said.done" : "rlve.said.working"), on: { input: () => { draft.message = message.value; } } }, draft.message);
  return [h("h2", {}, w("rlve.turn", { n: view.observation.turn + 1, most: view.observation.turn + view.observation.turns_left })),
    h("label", { class: "field" }, h("span", {}, w("rlve.message")), message),
    toolForm(), answerForm(), datalists(seen),
    view.fault ? h("p", { class: "note bad", id: "fault" }, `${w("rlve.refused")} ${view.fault.code}: `, visible(view.fault.message)) : null,
    h("div", { class: "row" }, h("button", { type: "button", class: "main", id: "send", on: { click: send } }, w("rlve.send")))];
}

function drawComposer() {
  const panel = byId("composer");
  if (panel) put(panel, composer());
}

function resultPanel() {
  const { reason, reward } = view.end;
  const { goal, score } = view.goal;
  return h("section", { class: "panel", "aria-label": w("result") },
    h("div", { class: "row ends" }, h("h2", { id: "result_heading", tabindex: -1 }, w("result")), mark(reward.success)),
    view.fault ? h("p", { class: "bad" }, `${view.fault.code}: `, visible(view.fault.message)) : null,
    rewardCards(reason, reward),
    goalParts(goal, score && { score: score.score, ...score.parts }));
}

function headPanel() {
  const { key, lease_id } = view.episode;
  const trace = async () => guarded(async () => save(`${key.env_id}-d${key.difficulty}-seed${key.seed}.jsonl`, await callText(`v1/rlve/episodes/${lease_id}/trace`)));
  return h("section", { class: "panel", "aria-label": w("rlve.episode") },
    h("h2", {}, known("env", key.env_id)),
    h("p", { class: "quiet", id: "facts" }, w("rlve.facts", { id: key.env_id, d: key.difficulty, seed: key.seed, budget: view.observation.tool_budget })),
    view.equal === null ? null : h("p", { class: view.equal ? "good" : "bad", id: "equal" }, w(view.equal ? "equal" : "unequal")),
    h("div", { class: "row" }, copyButton("copy.link", () => location.href), h("button", { type: "button", id: "trace", on: { click: trace } }, w("rlve.trace"))));
}

function draw() {
  if (!view.episode) {
    put(byId("episode"), h("p", { class: "panel" }, w("rlve.none")));
    return;
  }
  put(byId("episode"), headPanel(), view.end ? resultPanel() : null,
    h("div", { class: view.end ? "columns one" : "columns wide" },
      h("section", { class: "panel talk", "aria-label": w("rlve.talk") }, h("h2", { id: "talk_heading", tabindex: -1 }, w("rlve.talk")), talk()),
      view.end ? null : h("section", { class: "panel", id: "composer", "aria-label": w("rlve.composer") }, composer())));
}

function drawChoices() {
  if (!about()) return;
  const former = byId("env").value;
  put(byId("env"), about().environments.map(({ id }) => option(id, `${id} · ${known("env", id)}`)));
  byId("env").value = former || about().environments[0].id;
  byId("suite").textContent = `${about().suite} · ${w("rlve.release")} ${about().release.slice(0, 12)}`;
}

// --- links and the life of the page ---------------------------------------------------------------------------------

function readLink() {
  const found = new URLSearchParams(location.search);
  if (!found.has("env")) return null;
  let turns = [];
  let overrides = {};
  try {
    if (location.hash.length > 1) turns = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    if (found.has("overrides")) overrides = JSON.parse(found.get("overrides"));
  } catch {
    throw new Refusal("link", w("link.wrong"));
  }
  const exists = about().environments.some(({ id }) => id === found.get("env"));
  if (!exists || !Array.isArray(turns) || turns.length > MOST_TURNS) throw new Refusal("link", w("link.wrong"));
  for (const [name, id] of [["env", "env"], ["difficulty", "difficulty"], ["seed", "seed"], ["language", "customer"]]) {
    if (found.has(name)) byId(id).value = found.get(name);
  }
  return { turns, overrides };
}

async function begin() {
  await guarded(async () => {
    await load();
    drawChoices();
    const link = readLink();
    if (link) await open({ ...wanted(), overrides: link.overrides }, link.turns);
  });
}

function listen() {
  byId("start").addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(() => open(wanted()));
  });
  byId("recorded").addEventListener("change", () => guarded(async () => {
    const [file] = byId("recorded").files;
    if (file) await openTrace(await file.text());
  }));
  byId("next").addEventListener("click", () => guarded(() => {
    byId("seed").value = number("seed", 1e15) + 1;
    return open(wanted());
  }));
  byId("give_back").addEventListener("click", () => guarded(async () => {
    await giveBack();
    draw();
  }));
  window.addEventListener("pagehide", () => {
    if (view.episode) call("DELETE", `v1/rlve/episodes/${view.episode.lease_id}`, undefined, { keepalive: true }).catch(() => {});
  });
}

onRedraw(() => {
  drawChoices();
  put(byId("trouble"), view.trouble ? refused(view.trouble) : null);
  draw();
});
listen();
await start(begin);
await begin();
