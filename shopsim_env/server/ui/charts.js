// Charts drawn element by element, each with the same numbers as a table.

import { figure, fold, grid, h, svg, w } from "./common.js";

const WIDTH = 320;
const ROW = 22;
const LEFT = 118;
const RIGHT = 52;

function shortened(text, most = 17) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

// Horizontal bars; `rows` are [label, value], values may be negative.
export function bars(title, rows, digits = 0) {
  const low = Math.min(0, ...rows.map(([, value]) => value));
  const high = Math.max(0, ...rows.map(([, value]) => value));
  const scale = (WIDTH - LEFT - RIGHT) / (high - low || 1);
  const zero = LEFT - low * scale;
  const height = rows.length * ROW + 6;
  const drawn = rows.map(([label, value], place) => {
    const y = place * ROW + 4;
    const length = Math.max(Math.abs(value) * scale, value === 0 ? 0 : 1);
    return [
      svg("text", { x: LEFT - 6, y: y + 12, "text-anchor": "end" }, shortened(label)),
      svg("rect", { class: value < 0 ? "bar minus" : "bar", x: value < 0 ? zero - length : zero, y, width: length, height: 15 }),
      svg("text", { x: WIDTH - RIGHT + 6, y: y + 12 }, figure(value, digits)),
    ];
  });
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": w("chart.of", { title }) },
    svg("line", { class: "axis", x1: zero, x2: zero, y1: 0, y2: height }), ...drawn.flat());
  return h("figure", {}, h("figcaption", {}, title), rows.length ? picture : h("p", { class: "quiet" }, w("none")),
    rows.length ? fold(w("as.table"), () => grid(title, [{ head: w("name") }, { head: w("value"), number: true }], rows)) : null);
}
