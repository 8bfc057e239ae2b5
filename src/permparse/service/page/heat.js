// A matrix of weights between 0 and 1 as a heat map, its rows and columns named.

import { element, percent, svg } from "./dom.js";

const CELL = 13;
const NAMES = 74;

export function heatMap(title, text, matrix, rows, columns) {
  const width = NAMES + CELL * columns.length + 8;
  const height = NAMES + CELL * rows.length + 8;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": text });
  const hint = element("p", { class: "hint" }, "Point at a cell to read it.");
  columns.forEach((name, j) => {
    const x = NAMES + CELL * j + CELL / 2 + 3.5;
    picture.append(label(name, `translate(${x},${NAMES - 5}) rotate(-60)`, "start"));
  });
  rows.forEach((name, i) => {
    picture.append(label(name, `translate(${NAMES - 6},${NAMES + CELL * i + CELL / 2 + 3.5})`, "end"));
  });
  matrix.forEach((row, i) =>
    row.forEach((weight, j) => {
      const cell = svg("rect", { x: NAMES + CELL * j, y: NAMES + CELL * i, width: CELL - 1, height: CELL - 1, rx: 2 });
      cell.style.setProperty("--weight", `${Math.round(100 * Math.sqrt(Math.max(0, weight)))}%`);
      cell.addEventListener("pointerenter", () => {
        hint.textContent = `${rows[i]} → ${columns[j]}: ${percent(weight)}`;
      });
      picture.append(cell);
    }),
  );
  const frame = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, picture);
  return element("figure", { class: "map" }, element("figcaption", {}, title), frame, hint);
}

function label(name, transform, anchor) {
  const made = svg("text", { transform, "text-anchor": anchor });
  made.textContent = name.length > 10 ? `${name.slice(0, 9)}…` : name;
  return made;
}
