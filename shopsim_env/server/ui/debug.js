// Agent view: one episode, exactly as an agent gets it.

import { Refusal, block, byId, call, copyButton, drawTrouble, fold, foreign, guard, h, hasToken, json, known, onRedraw, option, put, query, refused, say, start, w } from "./common.js";
import { asCall, canonical, readTyped, toolCall } from "./actions.js";
import { comparison, result } from "./evidence.js";

const OPTIONS = ["task_mode", "interaction_mode", "option_match", "observation_style", "persona_view"];
const PAGE = 100;
const MOST_ACTIONS = 1000;
const view = { about: null, health: null, tasks: null, offset: 0, episode: null, answer: null, turns: [], evidence: null, trouble: null, busy: false, digest: "" };
let ownHash = "";
let typed = [];
let recalled = 0;

// --- tasks -----------------------------------------------------------------------------------------------------

const guarded = (work) => guard(view, work);

async function loadTasks() {
  view.tasks = await call("GET", `v1/tasks?${query({ split: byId("split").value, persona: byId("persona").value, find: byId("find").value.replace(/\D/g, ""), offset: view.offset, limit: PAGE })}`);
  drawTasks();
}

function drawTasks() {
  if (!view.tasks) return;
  const former = byId("tasks").value;
  put(byId("tasks"), view.tasks.tasks.map((task) =>
    option(task.task_id, [task.task_id, w(task.has_persona ? "with.persona" : "standard"), ...task.labels.filter((label) => !/\/|^persona$|^standard$/.test(label))].join(" · "))));
  byId("tasks").value = former;
  if (byId("tasks").selectedIndex < 0) byId("tasks").selectedIndex = 0;
  const { total, tasks } = view.tasks;
  byId("place").textContent = tasks.length ? `${view.offset + 1}–${view.offset + tasks.length} / ${total}` : w("none");
  byId("before").disabled = view.offset === 0;
  byId("after").disabled = view.offset + tasks.length >= total;
  byId("open").disabled = !tasks.length;
}

function drawChoices() {
  if (!view.about) return;
  const choices = {
    split: [["", w("any")], ...Object.entries(view.about.splits).map(([name, size]) => [name, `${name} (${size})`])],
    persona: [["", w("any")], ["yes", w("with.persona")], ["no", w("standard")]],
    task_mode: view.about.task_modes.map((name) => [name, known("task_mode", name)]),
    interaction_mode: Object.entries(view.about.interaction_modes).map(([name, limit]) => [name, `${known("interaction_mode", name)} (${limit})`]),
    option_match: view.about.option_match.map((name) => [name, known("option_match", name)]),
    persona_view: ["default", "without_searches"].map((name) => [name, known("persona_view", name)]),
    observation_style: ["full", "compact"].map((name) => [name, known("observation_style", name)]),
  };
  for (const [id, rows] of Object.entries(choices)) {
    const former = byId(id).value;
    put(byId(id), rows.map(([value, text]) => option(value, text)));
    byId(id).value = rows.some(([value]) => value === former) ? former : rows[0][0];
  }
}

function drawHealth() {
  if (!view.health) return;
  const { environment_version, free_slots, environment_slots, release, tasks } = view.health;
  byId("health").textContent = w("health", { version: environment_version, free: free_slots, slots: environment_slots, tasks, release: release.slice(0, 12) });
  byId("draw").disabled = byId("split").value === "";
  byId("give_back").disabled = !view.episode;
}

async function refreshHealth() {
  view.health = await call("GET", "healthz");
  drawHealth();
}

// --- episode ----------------------------------------------------------------------------------------------------

function wanted() {
  const seed = byId("seed").value.trim();
  if (seed !== "" && !/^-?\d{1,15}$/.test(seed)) throw new Refusal("seed", w("seed.wrong"));
  return { seed: seed === "" ? null : Number(seed), ...Object.fromEntries(OPTIONS.map((name) => [name, byId(name).value])) };
}

async function giveBack() {
  const lease = view.episode;
  view.episode = null;
  if (lease) await call("DELETE", `v1/episodes/${lease.lease_id}`);
}

async function open(request, actions = []) {
  await giveBack();
  const id = Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const episode = await call("POST", "v1/episodes", { ...request, wait_s: 20, request_id: id });
  Object.assign(view, { episode, answer: episode, turns: [], evidence: null });
  view.options = Object.fromEntries(OPTIONS.map((name) => [name, request[name]]));
  view.seed = request.seed;
  await shown();
  for (const action of actions) {
    if (view.answer.done) break;
    await play(action);
  }
  byId("observation_heading")?.focus();
}

async function play(action) {
  const { lease_id, fence } = view.episode;
  const answer = await call("POST", `v1/episodes/${lease_id}/step`, { action, fence, request_id: String(view.turns.length + 1) });
  if (!answer.valid) throw new Refusal(answer.failure_kind, w("infrastructure"));
  view.turns.push({ action, feedback: answer.action_feedback });
  view.answer = answer;
  if (answer.done && hasToken()) await loadEvidence();
  await shown();
}

async function loadEvidence() {
  try {
    view.evidence = await call("GET", `debug-ui/api/evidence/${view.episode.lease_id}`);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    view.evidence = error;
  }
}

async function act(action) {
  if (view.busy || !view.episode || view.answer.done) return;
  view.busy = true;
  await guarded(async () => {
    await play(action);
    const feedback = view.answer.action_feedback;
    say(feedback ? `${feedback.valid ? "" : `${w("refused")}: `}${feedback.message}` : "");
  });
  view.busy = false;
  byId("observation_heading")?.focus();
}

async function shown() {
  const bytes = new TextEncoder().encode(view.answer.observation);
  const hash = globalThis.crypto?.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : null;
  view.digest = w("bytes", { n: bytes.length }) + (hash ? ` · SHA-256 ${Array.from(hash.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("")}…` : "");
  ownHash = `#${encodeURIComponent(JSON.stringify({ task_id: view.episode.task_id, seed: view.seed, ...view.options, actions: view.turns.map((turn) => turn.action) }))}`;
  history.replaceState(null, "", ownHash);
  draw();
  // Not waited for: the next action may come now.
  guarded(refreshHealth);
}

// --- drawing -------------------------------------------------------------------------------------------------------

function clickButton(value, text) {
  return h("li", {}, h("button", { type: "button", on: { click: () => act(toolCall("click", value)) } }, text));
}

function valueGroups(state) {
  const left = new Set(state.actions);
  const take = (value) => left.delete(value);
  const groups = [];
  const products = (state.products ?? []).filter((product) => take(product.asin));
  const axes = Object.keys(state.available_options ?? {}).map((axis) => [axis, state.available_options[axis].map((value) => `${axis}=${value}`).filter(take)]);
  const rest = state.actions.filter((value) => left.has(value));
  if (rest.length) groups.push(h("section", {}, h("h3", {}, w("elements")), h("ul", { class: "values" }, rest.map((value) => clickButton(value, foreign(value))))));
  if (products.length) groups.push(h("section", {}, h("h3", {}, w("products")), h("ul", { class: "values products" }, products.map((product) => clickButton(product.asin, [`${product.rank}. `, foreign(product.asin), " · ", foreign(product.title), product.price ? [" · ", foreign(product.price)] : null])))));
  for (const [axis, values] of axes) {
    if (!values.length && !(axis in state.selected_options)) continue;
    const chosen = state.selected_options[axis];
    groups.push(h("section", {}, h("h3", {}, foreign(axis), chosen === undefined ? null : [" ", h("span", { class: "badge good" }, w("chosen"), ": ", foreign(chosen))]),
      h("ul", { class: "values" }, values.map((value) => clickButton(value, foreign(value))))));
  }
  return groups;
}

function wordForm(word, hint, name) {
  const field = h("input", { autocomplete: "off", spellcheck: "false", maxlength: 4000, "aria-label": w(word), placeholder: w(hint) });
  return h("form", { class: "row", on: { submit: (event) => {
    event.preventDefault();
    act(toolCall(name, field.value));
  } } }, h("div", { class: "grow" }, field), h("button", {}, w(word)));
}

function typedForm() {
  const field = h("input", { id: "typed", autocomplete: "off", spellcheck: "false", "aria-label": w("typed"), placeholder: "search[…]  click[…]  {\"name\": …}" });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    recalled = Math.min(Math.max(recalled + (event.key === "ArrowUp" ? -1 : 1), 0), typed.length);
    field.value = typed[recalled] ?? "";
  });
  return h("form", { class: "row", on: { submit: (event) => {
    event.preventDefault();
    typed.push(field.value);
    recalled = typed.length;
    act(readTyped(field.value));
  } } }, h("div", { class: "grow" }, field), h("button", {}, w("send")));
}

function actionPanel() {
  const state = view.answer.observation_state;
  return h("section", { class: "panel", "aria-label": w("actions") }, h("h2", {}, w("actions")),
    state.search_available ? wordForm("search", "search.hint", "search") : null,
    state.ask_available ? wordForm("ask", "ask.hint", "ask_shopper") : null,
    valueGroups(state),
    h("h3", {}, w("typed")), typedForm());
}

function lastPanel() {
  const turn = view.turns.at(-1);
  if (!turn) return null;
  const called = asCall(turn.action);
  const { feedback } = turn;
  return h("section", { class: "panel", "aria-label": w("last") }, h("h2", {}, w("last")),
    h("p", {}, h("code", {}, foreign(canonical(turn.action)))),
    called ? h("p", { class: "quiet" }, `${w("tool_call")}: `, h("code", {}, foreign(JSON.stringify(called)))) : null,
    feedback ? h("p", { class: feedback.valid ? "good" : "bad" }, h("strong", {}, w(feedback.valid ? "accepted" : "refused")), ` (${feedback.reason}): `, foreign(feedback.message)) : null);
}

function turnsPanel() {
  if (!view.turns.length) return null;
  return fold(w("turns", { n: view.turns.length }), () => h("ol", { class: "turns" }, view.turns.map((turn) => h("li", {}, h("code", {}, foreign(canonical(turn.action))), turn.feedback && !turn.feedback.valid ? [" ", h("span", { class: "badge bad" }, turn.feedback.reason)] : null))));
}

function evidencePanel() {
  if (!view.answer.done) return null;
  if (view.evidence instanceof Refusal) return refused(view.evidence);
  if (view.evidence) return comparison(view.evidence);
  return h("p", { class: "quiet" }, w("evidence.token"));
}

function draw() {
  const { episode, answer } = view;
  if (!episode) {
    put(byId("episode"), h("p", { class: "panel" }, w("no.episode")));
    return;
  }
  const info = answer.info ?? {};
  const persona = episode.user_persona;
  put(byId("episode"),
    h("section", { class: "panel", "aria-label": w("task") },
      h("h2", {}, w("task.number", { id: episode.task_id })),
      h("p", { class: "quiet" }, w("facts.episode", { mode: known("task_mode", episode.task_mode), talk: known("interaction_mode", episode.interaction_mode), count: info.action_count ?? 0, max: info.max_actions ?? view.about.interaction_modes[episode.interaction_mode] })),
      h("blockquote", { id: "instruction" }, foreign(episode.task_instruction)),
      Object.keys(persona).length ? fold(w("persona.shown"), () => json(persona, w("persona.shown"))) : null,
      h("div", { class: "row" }, copyButton("copy.link", () => location.href))),
    lastPanel(),
    answer.done ? result({ ...answer, purchase: info.purchase }) : null,
    evidencePanel(),
    h("div", { class: "columns wide" },
      h("section", { class: "panel", "aria-label": w("observation") },
        h("div", { class: "row ends" }, h("h2", { id: "observation_heading", tabindex: -1 }, w("observation")), copyButton("copy.text", () => answer.observation)),
        block(answer.observation, w("observation")),
        h("p", { class: "quiet" }, view.digest)),
      answer.done ? null : actionPanel()),
    h("section", { class: "panel", "aria-label": w("answer") },
      turnsPanel(),
      fold(w("state"), () => json(answer.observation_state, w("state"))),
      fold(w("tools"), () => json(answer.tools ?? [], w("tools"))),
      fold(w("answer"), () => json({ ...answer, lease_id: undefined }, w("answer")))));
}

// --- links and the life of the page ---------------------------------------------------------------------------------

function readLink() {
  if (location.hash.length < 2) return null;
  let found;
  try {
    found = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    throw new Refusal("link", w("link.wrong"));
  }
  const actions = found?.actions ?? [];
  if (!Number.isSafeInteger(found?.task_id) || !Array.isArray(actions) || actions.length > MOST_ACTIONS) throw new Refusal("link", w("link.wrong"));
  const request = { task_id: found.task_id, seed: found.seed ?? null };
  for (const name of OPTIONS) request[name] = typeof found[name] === "string" ? found[name] : byId(name).value;
  return { request, actions };
}

async function followLink() {
  if (location.hash === ownHash) return;
  await guarded(async () => {
    const link = readLink();
    if (!link) return;
    for (const name of OPTIONS) byId(name).value = link.request[name];
    byId("seed").value = link.request.seed ?? "";
    await open(link.request, link.actions);
  });
}

async function load() {
  await guarded(async () => {
    view.about = await call("GET", "v1/release");
    drawChoices();
    await Promise.all([refreshHealth(), loadTasks()]);
  });
  if (view.about) await followLink();
}

function listen() {
  const again = () => guarded(async () => {
    view.offset = 0;
    await loadTasks();
    drawHealth();
  });
  byId("split").addEventListener("change", again);
  byId("persona").addEventListener("change", again);
  byId("find").addEventListener("input", again);
  const turn = (by) => guarded(async () => {
    view.offset = Math.max(0, view.offset + by);
    await loadTasks();
  });
  byId("before").addEventListener("click", () => turn(-PAGE));
  byId("after").addEventListener("click", () => turn(PAGE));
  byId("start").addEventListener("submit", (event) => {
    event.preventDefault();
    guarded(() => open({ ...wanted(), task_id: Number(byId("tasks").value) }));
  });
  byId("tasks").addEventListener("keydown", (event) => {
    if (event.key === "Enter") byId("start").requestSubmit();
  });
  byId("draw").addEventListener("click", () => guarded(() => open({ ...wanted(), seed: wanted().seed ?? 0, split: byId("split").value })));
  byId("give_back").addEventListener("click", () => guarded(async () => {
    await giveBack();
    draw();
    await refreshHealth();
  }));
  window.addEventListener("hashchange", followLink);
  window.addEventListener("pagehide", () => {
    if (view.episode) call("DELETE", `v1/episodes/${view.episode.lease_id}`, undefined, { keepalive: true }).catch(() => {});
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName)) {
      event.preventDefault();
      byId("typed")?.focus();
    }
  });
}

onRedraw(() => {
  drawChoices();
  drawTasks();
  drawHealth();
  drawTrouble(view);
  draw();
});
listen();
await start(load);
await load();
