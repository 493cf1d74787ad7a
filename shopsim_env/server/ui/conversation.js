// A conversation with a customer that is over: reward, goal, and a recorded one turn by turn.

import { figure, fold, foreign, h, json, known, visible, w } from "./common.js";
import { card } from "./evidence.js";
import { called, mark, record, share } from "./records.js";

const PARTS = ["task", "efficiency", "hallucination"];
const COUNTS = ["turns", "exempt_turns", "effective_turns", "turn_budget", "used", "unseen"];

// A turn as an object, whether it was given as text or as one; null when it is neither.
function readTurn(turn) {
  try {
    const found = typeof turn === "string" ? JSON.parse(turn) : turn;
    return found && typeof found === "object" && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

export const answerOf = (turn) => readTurn(turn)?.answer ?? null;

export const answered = (answer) => (answer && typeof answer === "object" ? h("section", { class: "called" }, h("p", {}, h("strong", {}, w("rlve.answer"))), record(answer, null)) : null);

// Total and parts of a reward, with the counts behind them.
export const rewardCards = (reason, reward) => [
  h("dl", { class: "cards" }, card(w("rlve.total"), share(reward.total)), card(w("ended"), known("rlve_reason", reason)),
    PARTS.map((name) => card(w(`rlve.part.${name}`), share(reward[name]), w(`rlve.weight.${name}`)))),
  reward.efficiency_counts || reward.hard_failure ? null : h("p", { class: "quiet" }, w("rlve.no.efficiency")),
  record(Object.fromEntries(COUNTS.map((name) => [name, reward[name]])), null)];

// `terms` are what the task score is made of; null after a hard failure.
export const goalParts = (goal, terms) => [h("h3", {}, w("rlve.goal")), h("div", { id: "goal", class: "stack tight" }, record(goal, null)),
  terms ? [h("h3", {}, w("rlve.terms")), record(terms, null)] : null];

// --- a recorded one ----------------------------------------------------------------------------------------------

const said = (messages) => messages.map(({ role, content }) => h("article", { class: `said ${role}` }, h("h4", {}, w(role === "user" ? "rlve.user" : "rlve.agent")), h("p", {}, foreign(content))));

function turnView(step, badge) {
  const title = w("rlve.turn.n", { n: step.number });
  return h("article", { class: "step", "aria-label": title },
    h("div", { class: "row" }, h("h3", {}, title), badge(step.equal), step.fault ? h("span", { class: "badge bad" }, foreign(step.fault.code)) : null),
    step.fault ? h("p", { class: "bad" }, visible(step.fault.message)) : null,
    step.said ? said(step.said.filter(({ role }) => role !== "user")) : null,
    step.results ? [step.results.map((one) => called(one, null)), answered(answerOf(step.action))] : null,
    step.said ? said(step.said.filter(({ role }) => role === "user")) : null,
    fold(w("rlve.turn.given"), () => json(readTurn(step.action) ?? step.action, w("rlve.turn.given")), step.said === null));
}

export function timeline(found, badge) {
  return h("section", { class: "panel talk", "aria-label": w("rlve.talk") }, h("h2", {}, w("rlve.talk")),
    found.opening.said ? h("article", { class: "step", "aria-label": w("rlve.opening") },
      h("div", { class: "row" }, h("h3", {}, w("rlve.opening")), badge(found.opening.equal)), said(found.opening.said)) : null,
    found.steps.map((step) => turnView(step, badge)));
}

export const facts = ({ key, steps, strict }) => h("p", { class: "quiet" }, foreign(
  [known("env", key.env_id), `d${figure(key.difficulty)}`, `#${figure(key.seed)}`, key.language, w("rlve.turns.n", { n: steps.length }), strict ? "strict" : ""].filter(Boolean).join(" · ")));

export const ending = (found) => h("section", { class: "panel", "aria-label": w("result") },
  h("div", { class: "row ends" }, h("h2", {}, w("result")), mark(found.reward.success)), rewardCards(found.reason, found.reward));

export const evidence = ({ goal, score }) => h("section", { class: "panel", "aria-label": w("evidence") }, h("h2", {}, w("evidence")), goalParts(goal, score));
