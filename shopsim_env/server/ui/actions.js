// An action in its spellings: canonical text, tool call, and as traces write it.

const ARGUMENTS = { search: "query", click: "value", ask_shopper: "message" };

export const toolCall = (name, argument) => ({ name, arguments: { [ARGUMENTS[name]]: argument } });

// Canonical text of an action; what has none is shown as JSON.
export function canonical(action) {
  if (typeof action === "string") return action;
  const one = Array.isArray(action) && action.length === 1 ? action[0] : action;
  if (typeof one?.typed_action === "string") return `${one.typed_action}[${one[ARGUMENTS[one.typed_action]]}]`;
  const { name, arguments: given } = one?.function ?? one ?? {};
  const argument = Object.hasOwn(ARGUMENTS, name ?? "") && given && typeof given === "object" ? given[ARGUMENTS[name]] : undefined;
  return typeof argument === "string" ? `${name}[${argument}]` : JSON.stringify(action);
}

// The tool call of an action, null when its text is none.
export function asCall(action) {
  if (typeof action !== "string") return action;
  const match = /^\s*(search|click|ask_shopper)\[([^\n]*)\]\s*$/.exec(action);
  return match ? toolCall(match[1], match[2]) : null;
}

// What somebody typed: JSON of a tool call, else text as a model may write it.
export function readTyped(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
