// Replay: recorded runs, their episodes, and two runs side by side. Which view is shown stands in the fragment.

import { Refusal, block, byId, call, figure, fold, foreign, grid, h, hasToken, json, known, onRedraw, option, put, query, refused, start, w } from "./common.js";
import { canonical } from "./actions.js";
import { bars } from "./charts.js";
import { card, comparison, result } from "./evidence.js";
import * as rlve from "./conversation.js";

const PAGE = 50;
const MOST_RUNS = 500;
const POLL_MS = 400;
const FOLLOW_MS = 3000;
const WISHES = { find: "", status: "", reason: "", success: "", sort: "task", order: "up", offset: 0 };
const view = { runs: null, run: null, episodes: null, episode: null, evidence: null, compare: null, trouble: null, filter: "", follow: false };
let place = {};
let turn = 0;
let timer = 0;

const api = (name, fields) => call("GET", `replay-ui/api/${name}?${query(fields)}`);

// --- where we are ------------------------------------------------------------------------------------------------

function readPlace() {
  const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return { ...WISHES, ...found, offset: Math.max(0, Number.parseInt(found.offset ?? "0", 10) || 0) };
}

function go(changes, kept = {}) {
  const next = { ...kept, ...changes };
  for (const name of Object.keys(next)) if (next[name] === WISHES[name]) delete next[name];
  location.hash = query(next);
}

const wishes = () => Object.fromEntries(Object.keys(WISHES).map((name) => [name, place[name]]));
const inRun = (changes) => go(changes, { run: place.run, ...wishes() });

async function load() {
  const mine = ++turn;
  clearTimeout(timer);
  place = readPlace();
  let found;
  try {
    found = { trouble: null, ...await fetchPlace(place) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    found = { trouble: error };
  }
  if (mine !== turn) return; // somebody went on meanwhile
  Object.assign(view, found);
  draw(false);
  wait();
}

async function fetchPlace(here) {
  const runs = !view.runs || !here.run ? await api("runs", {}) : view.runs;
  if (!here.run) return { runs };
  if (here.episode) {
    const key = `${here.run} ${here.episode}`;
    if (view.episode?.key === key) return { runs };
    return { runs, evidence: null, episode: { key, ...await api("episode", { run: here.run, episode: here.episode }) } };
  }
  if (here.against) return { runs, compare: await api("compare", { first: here.run, second: here.against, offset: here.offset, limit: PAGE }) };
  const run = await api("run", { run: here.run });
  const wished = Object.fromEntries(Object.keys(WISHES).map((name) => [name, here[name]]));
  return { runs, run, episodes: await api("episodes", { run: here.run, limit: PAGE, ...wished }) };
}

// While the index grows, and as long as somebody wants to follow a run that grows.
function wait() {
  const growing = view.trouble ? false
    : place.episode ? false
      : place.against ? view.compare && view.compare.progress.some((one) => !one.done)
        : place.run && view.run && !view.run.done;
  if (growing) timer = setTimeout(load, POLL_MS);
  else if (view.follow && place.run && !place.episode) timer = setTimeout(load, FOLLOW_MS);
}

// --- runs ----------------------------------------------------------------------------------------------------------

const size = (bytes) => (bytes < 1e6 ? `${figure(bytes / 1e3, 1)} kB` : `${figure(bytes / 1e6, 1)} MB`);
const when = (seconds) => new Date(seconds * 1000).toISOString().replace("T", " ").slice(0, 16);

function runsView() {
  if (!view.runs) return null;
  if (!view.runs.configured) return h("p", { class: "panel" }, w("runs.none.configured"));
  const field = h("input", { id: "filter", autocomplete: "off", "aria-label": w("search.runs"), placeholder: w("search.runs"), value: view.filter });
  const rows = h("div", {});
  const fillRows = () => {
    view.filter = field.value;
    const found = view.runs.runs.filter((run) => run.name.toLowerCase().includes(view.filter.trim().toLowerCase()));
    put(rows, found.length ? grid(w("runs.n", { n: found.length }), [{ head: w("name") }, { head: w("kind") }, { head: w("size"), number: true }, { head: w("changed") }],
      found.slice(0, MOST_RUNS).map((run) => [
        h("button", { type: "button", class: "link", on: { click: () => go({ run: run.id }) } }, foreign(run.name || ".")),
        w(`kind.${run.kind}`), h("span", {}, size(Object.values(run.sizes).reduce((one, two) => one + two, 0))), when(run.modified)])) : h("p", {}, w("none")),
    found.length > MOST_RUNS ? h("p", { class: "quiet" }, w("runs.first", { n: MOST_RUNS })) : null);
  };
  field.addEventListener("input", fillRows);
  fillRows();
  return h("section", { class: "panel", "aria-label": w("runs") }, h("h2", { id: "heading", tabindex: -1 }, w("runs")), field, rows);
}

// --- one run ---------------------------------------------------------------------------------------------------------

const percent = (value) => (value === null ? "–" : `${figure(value * 100, 1)} %`);
const milliseconds = (value) => (value === null ? "–" : value < 1e4 ? `${figure(value, 0)} ms` : `${figure(value / 1000, 1)} s`);

function progress(run) {
  if (run.done) return null;
  const share = run.size ? run.indexed / run.size : 0;
  return h("div", {}, h("progress", { max: 1, value: share, "aria-label": w("indexing") }), h("p", { class: "quiet" }, w("indexed", { part: percent(share), n: run.recorded })));
}

function cards(run) {
  const { counts, reward, behaviour, cost } = run.figures;
  const plusMinus = reward.sem === null ? null : `± ${figure(reward.sem, 4)}`;
  return h("dl", { class: "cards" },
    card(w("recorded"), figure(counts.recorded), run.requested === null ? null : `/ ${figure(run.requested)}`),
    card(w("completed"), figure(counts.completed)), card(w("failed"), figure(counts.failed)),
    card(w("reward.mean"), figure(reward.mean, 4), plusMinus), card(w("success.rate"), percent(reward.success)),
    card(w("steps.mean"), figure(behaviour.steps_mean, 2)), card(w("invalid.rate"), percent(behaviour.invalid_rate)),
    card(w("protocol.errors"), figure(behaviour.protocol_errors)),
    card(w("duration.mean"), milliseconds(cost.duration_ms_mean), cost.duration_ms_p95 === null ? null : `p95 ${milliseconds(cost.duration_ms_p95)}`),
    card(w("tokens"), cost.tokens ? figure(cost.tokens.total_tokens) : "–"));
}

// The lower end of a bin of rewards: from 0 for the Shop, from -1 for RLVE.
const edge = ({ reward_least: least }, bin) => (least + (bin * (1 - least)) / 10).toFixed(1);
// How an episode ended, in the words of its world.
const ended = (code) => {
  const found = known("rlve_reason", code);
  return found === code ? known("reason", code) : found;
};

function charts(run) {
  const found = run.figures;
  const components = Object.entries(found.components).filter(([, value]) => value !== null);
  return h("div", { class: "charts" },
    bars(w("chart.reward"), found.counts.scored ? found.reward_histogram.map((count, bin) => [`${edge(found, bin)} – ${edge(found, bin + 1)}`, count]) : []),
    bars(w("chart.components"), components, 3),
    bars(w("chart.reasons"), found.termination_reasons.map(([reason, count]) => [ended(reason), count])),
    bars(w("chart.steps"), stepBins(found.steps_histogram)),
    found.errors.length ? bars(w("chart.errors"), found.errors.slice(0, 12)) : null);
}

function stepBins(counts) {
  if (counts.length <= 12) return counts.map(([steps, count]) => [String(steps), count]);
  const width = Math.ceil((counts.at(-1)[0] + 1) / 10);
  const bins = new Map();
  for (const [steps, count] of counts) {
    const first = Math.floor(steps / width) * width;
    const name = `${first}–${first + width - 1}`;
    bins.set(name, (bins.get(name) ?? 0) + count);
  }
  return [...bins];
}

function facts(run) {
  const rows = [[w("size"), h("span", {}, Object.entries(run.sizes).map(([name, bytes]) => `${name} ${size(bytes)}`).join(" · "))],
    [w("lines"), h("span", {}, w("lines.text", { lines: run.lines, invalid: run.invalid_lines, replaced: run.replaced, torn: run.torn }))],
    [w("release"), run.releases.map((id) => id.slice(0, 16)).join(" · ") || "–"]];
  const same = run.releases.length === 1 && run.releases[0] === view.runs.release;
  return [grid(w("facts"), [{ head: w("name") }, { head: w("value") }], rows, true),
    run.recorded && !same ? h("p", { class: "note warn" }, w("release.other")) : null,
    run.manifest ? fold("manifest.json", () => json(run.manifest, "manifest.json")) : null,
    run.summary ? fold("summary.json", () => json(run.summary, "summary.json")) : null];
}

function chosenFrom(name, word, options) {
  const select = h("select", { id: `wish_${name}`, on: { change: () => inRun({ [name]: select.value, offset: 0 }) } }, options.map(([value, text]) => option(value, text)));
  select.value = place[name];
  return h("label", { class: "field" }, h("span", {}, w(word)), select);
}

function filters(run) {
  const field = h("input", { id: "find", autocomplete: "off", maxlength: 200, value: place.find });
  const reasons = run.figures.termination_reasons.map(([reason]) => [reason, ended(reason)]);
  return h("form", { class: "fields", on: { submit: (event) => {
    event.preventDefault();
    inRun({ find: field.value, offset: 0 });
  } } },
  h("label", { class: "field" }, h("span", {}, w("search.episodes")), field),
  chosenFrom("status", "status", [["", w("any")], ...["completed", "failed", "unfinished"].map((code) => [code, w(`status.${code}`)])]),
  chosenFrom("reason", "ended", [["", w("any")], ...reasons]),
  chosenFrom("success", "success", [["", w("any")], ["yes", w("yes")], ["no", w("no")]]),
  chosenFrom("sort", "sort", ["task", "reward", "steps", "invalid", "duration", "tokens", "file"].map((code) => [code, w(`sort.${code}`)])),
  chosenFrom("order", "order", [["up", w("order.up")], ["down", w("order.down")]]));
}

function episodeTable(found) {
  const heads = [{ head: w("episode") }, { head: w("task"), number: true }, { head: w("status") }, { head: w("ended") }, { head: w("reward"), number: true }, { head: w("steps"), number: true }, { head: w("duration"), number: true }, { head: w("tokens"), number: true }, { head: w("instruction") }];
  return grid(w("episodes.n", { n: found.total }), heads, found.episodes.map((row) => [
    h("button", { type: "button", class: "link", on: { click: () => inRun({ episode: row.episode_id }) } }, foreign(row.episode_id)),
    h("span", {}, foreign(row.task)), badge(row.status), ended(row.reason || row.error || "none"),
    h("span", { class: row.success === 1 ? "good" : null }, row.success === 1 ? "✓ " : "", figure(row.reward, 4)), row.steps, h("span", {}, milliseconds(row.duration_ms)), row.tokens,
    h("span", { class: "long" }, foreign(row.instruction))]));
}

const badge = (status) => h("span", { class: `badge ${{ completed: "good", failed: "bad" }[status] ?? "warn"}` }, w(`status.${status}`));

function pager(total) {
  const button = (word, by, dead) => h("button", { type: "button", disabled: dead, on: { click: () => go({ ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))), offset: Math.max(0, place.offset + by) }) } }, w(word));
  return h("div", { class: "row ends" }, button("before", -PAGE, place.offset === 0),
    h("span", { class: "quiet" }, total ? `${place.offset + 1}–${Math.min(place.offset + PAGE, total)} / ${figure(total)}` : w("none")),
    button("after", PAGE, place.offset + PAGE >= total));
}

function runBar(run) {
  const others = view.runs.runs.filter((one) => one.id !== run.id);
  const select = h("select", { on: { change: () => { if (select.value) go({ run: run.id, against: select.value }); } } },
    option("", w("compare.choose")), others.slice(0, MOST_RUNS).map((one) => option(one.id, one.name || ".")));
  const follow = h("input", { type: "checkbox", id: "follow", on: { change: () => {
    view.follow = follow.checked;
    load();
  } } });
  follow.checked = view.follow;
  return h("div", { class: "row ends" }, h("div", { class: "row" }, h("button", { type: "button", on: { click: () => go({}) } }, w("all.runs")), h("button", { type: "button", on: { click: load } }, w("refresh")),
    h("label", { class: "row" }, follow, w("follow"))), h("label", { class: "field" }, h("span", {}, w("compare")), select));
}

function runView() {
  const { run, episodes } = view;
  if (!run || !episodes || run.id !== place.run) return null;
  return [h("section", { class: "panel", "aria-label": w("run") }, runBar(run), h("h2", { id: "heading", tabindex: -1 }, foreign(run.name || ".")), progress(run), cards(run)),
    h("section", { class: "panel", "aria-label": w("charts") }, h("h2", {}, w("charts")), charts(run)),
    h("section", { class: "panel", "aria-label": w("episodes") }, h("h2", {}, w("episodes")), filters(run), episodeTable(episodes), pager(episodes.total)),
    h("section", { class: "panel", "aria-label": w("facts") }, h("h2", {}, w("facts")), facts(run))];
}

// --- one episode -------------------------------------------------------------------------------------------------------

const shownAction = (action) => (action === null || action === undefined ? w("no.action") : canonical(action));

function equalBadge(equal) {
  return equal === null ? null : h("span", { class: `badge ${equal ? "good" : "bad"}` }, w(equal ? "equal" : "unequal"));
}

function usage(model) {
  const parts = [];
  if (model.latency_ms !== null) parts.push(milliseconds(model.latency_ms));
  for (const name of ["prompt_tokens", "completion_tokens", "reasoning_tokens"]) if (Number.isFinite(model.usage[name])) parts.push(`${w(name)} ${figure(model.usage[name])}`);
  if (model.finish_reason) parts.push(`finish_reason ${model.finish_reason}`);
  return parts.length ? h("p", { class: "quiet" }, foreign(parts.join(" · "))) : null;
}

function stepView(step) {
  const { model, feedback } = step;
  const title = w("step.n", { n: step.number });
  return h("article", { class: "step", "aria-label": title },
    h("div", { class: "row" }, h("h3", {}, title), equalBadge(step.equal),
      feedback && !feedback.valid ? h("span", { class: "badge bad" }, foreign(feedback.reason)) : null,
      model && model.protocol_error ? h("span", { class: "badge bad" }, w("protocol.error")) : null),
    h("p", {}, h("code", {}, foreign(shownAction(step.action)))),
    model ? usage(model) : null,
    feedback ? h("p", { class: feedback.valid ? "good" : "bad" }, foreign(`${feedback.reason}: ${feedback.message}`)) : null,
    step.observation === null ? null : fold(w("observation"), () => block(step.observation, w("observation"))),
    model && model.reasoning ? fold(w("thinking"), () => block(model.reasoning, w("thinking"))) : null,
    model && model.content ? fold(w("content"), () => block(model.content, w("content"))) : null,
    step.tool_call ? fold(w("tool_call"), () => json(step.tool_call, w("tool_call"))) : null,
    model && model.protocol_error ? fold(w("protocol.error"), () => json(model.protocol_error, w("protocol.error"))) : null,
    step.tools ? fold(w("tools"), () => json(step.tools, w("tools"))) : null,
    step.state ? fold(w("state"), () => json(step.state, w("state"))) : null);
}

const episodeHead = (found) => [
  h("div", { class: "row" }, h("button", { type: "button", on: { click: () => inRun({}) } }, w("back.run"))),
  h("div", { class: "row" }, h("h2", { id: "heading", tabindex: -1 }, foreign(found.episode_id)), badge(found.status), found.same_release ? null : h("span", { class: "badge warn" }, w("release.other.short")))];

const rlveView = (found) => [h("section", { class: "panel", "aria-label": w("episode") }, episodeHead(found), rlve.facts(found),
  found.note ? h("p", { class: "note warn" }, w(`note.${found.note}`)) : null,
  fold(w("environment"), () => json({ key: found.key, strict: found.strict, suite: found.suite, release: found.release }, w("environment")))),
rlve.timeline(found, equalBadge),
found.status === "completed" ? [rlve.ending(found), found.note ? null : evidenceView()] : null];

function episodeView() {
  const found = view.episode;
  if (!found) return null;
  if (found.kind === "rlve") return rlveView(found);
  const { final } = found;
  return [h("section", { class: "panel", "aria-label": w("episode") }, episodeHead(found),
    h("p", { class: "quiet" }, w("facts.recorded", { task: found.task_id, seed: found.seed ?? "–", steps: found.steps.length, duration: milliseconds(found.duration_ms) })),
    found.note ? h("p", { class: "note warn" }, w(`note.${found.note}`)) : null,
    found.instruction === null ? null : h("blockquote", {}, foreign(found.instruction)),
    Object.keys(found.persona).length ? fold(w("persona.shown"), () => json(found.persona, w("persona.shown"))) : null,
    fold(w("environment"), () => json({ environment: found.environment, provenance: found.provenance }, w("environment"))),
    found.error ? h("div", { class: "note bad" }, json(found.error, w("error"))) : null),
  h("section", { class: "panel", "aria-label": w("timeline") }, h("h2", {}, w("timeline")), found.steps.map(stepView),
    final.observation ? h("div", { class: "step" }, h("div", { class: "row" }, h("h3", {}, w("page.last")), equalBadge(final.equal)), fold(w("observation"), () => block(final.observation, w("observation")))) : null),
  found.status === "completed" ? [result(final), evidenceView()] : null];
}

function evidenceView() {
  if (view.evidence instanceof Refusal) return refused(view.evidence);
  if (view.evidence) return view.evidence.kind === "rlve" ? rlve.evidence(view.evidence) : comparison(view.evidence);
  if (!hasToken()) return h("p", { class: "panel" }, w(view.episode.kind === "rlve" ? "rlve.evidence.token" : "evidence.token"));
  return h("section", { class: "panel", "aria-label": w("evidence") }, h("button", { type: "button", id: "evidence", on: { click: async () => {
    try {
      view.evidence = await api("evidence", { run: place.run, episode: place.episode });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      view.evidence = error;
    }
    draw();
  } } }, w("evidence.show")));
}

// --- two runs ------------------------------------------------------------------------------------------------------------

const nameOf = (id) => view.runs.runs.find((run) => run.id === id)?.name || ".";
const range = (pair) => (pair === null ? null : `95 %: ${figure(pair[0], 4)} … ${figure(pair[1], 4)}`);

function compareView() {
  const found = view.compare;
  if (!found) return null;
  const [first, second] = [nameOf(place.run), nameOf(place.against)];
  const heads = [{ head: w("task"), number: true }, { head: w("pairs"), number: true }, { head: "A", number: true }, { head: "B", number: true }, { head: "B − A", number: true }];
  const openTask = (row) => h("button", { type: "button", class: "link", on: { click: () => go({ run: place.run, find: row.task }) } }, foreign(row.task));
  return [h("section", { class: "panel", "aria-label": w("compare") },
    h("div", { class: "row" }, h("button", { type: "button", on: { click: () => go({ run: place.run }) } }, w("back.run")), h("button", { type: "button", on: { click: () => go({ run: place.against, against: place.run }) } }, w("swap"))),
    h("h2", { id: "heading", tabindex: -1 }, w("compare")),
    h("p", {}, "A: ", foreign(first)), h("p", {}, "B: ", foreign(second)),
    found.progress.map(progress),
    found.same_release ? null : h("p", { class: "note warn" }, w("compare.other.release")),
    h("dl", { class: "cards" },
      card(w("pairs"), figure(found.pairs), w("unpaired", { n: found.unpaired })),
      card("B − A", figure(found.difference.mean, 4), range(found.difference.interval)),
      card(w("better"), figure(found.better)), card(w("equal.pairs"), figure(found.equal)), card(w("worse"), figure(found.worse)),
      card(w("success.gained"), figure(found.success_gained)), card(w("success.lost"), figure(found.success_lost)))),
  h("section", { class: "panel", "aria-label": w("by.task") }, h("h2", {}, w("by.task")),
    bars(w("chart.difference"), found.tasks.slice(0, 15).map((row) => [row.task, row.difference]), 3),
    grid(w("tasks.n", { n: found.total }), heads, found.tasks.map((row) => [openTask(row), row.pairs, row.first, row.second, row.difference])), pager(found.total))];
}

// --- drawing -----------------------------------------------------------------------------------------------------------------

let drawnPlace = null;
let drawnData = "";

function draw(always = true) {
  const here = [place.run, place.episode, place.against].join(" ");
  const data = JSON.stringify([location.hash, view.run, view.episodes, view.compare, view.trouble?.message]);
  // What is polled and has not changed is left alone: somebody may be reading it.
  if (!always && here === drawnPlace && data === drawnData) return;
  put(byId("trouble"), view.trouble ? [refused(view.trouble), place.run ? h("button", { type: "button", on: { click: () => go({}) } }, w("all.runs")) : null] : null);
  const { id, value, tagName } = document.activeElement ?? {};
  if (view.trouble) put(byId("view"));
  else put(byId("view"), place.run && place.episode ? episodeView() : place.run && place.against ? compareView() : place.run ? runView() : runsView());
  if (here !== drawnPlace && drawnPlace !== null) byId("heading")?.focus();
  else if (id && here === drawnPlace) {
    const again = byId(id);
    if (tagName === "INPUT" && again) again.value = value;
    again?.focus();
  }
  drawnPlace = here;
  drawnData = data;
}

onRedraw(() => { if (view.runs || view.trouble) draw(); });
window.addEventListener("hashchange", load);
await start(() => {
  view.runs = view.evidence = null;
  drawnData = "";
  load();
});
await load();
