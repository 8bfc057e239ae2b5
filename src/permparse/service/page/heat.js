// A matrix of weights between 0 and 1 as a heat map, its rows and columns named.

import { element, percent, svg } from "./dom.js";

const LONGEST = 10;
const SIGN = 6.1;

export function heatMap(title, text, matrix, rows, columns) {
  const cell = columns.length > 24 ? 10.5 : 13;
  const [left, top] = [rows, columns].map((names) => 10 + SIGN * Math.max(...names.map((name) => short(name).length)));
  const width = left + cell * columns.length + 4;
  const height = top + cell * rows.length + 4;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": text });
  const hint = element("p", { class: "hint" }, "Point at a cell to read it.");
  columns.forEach((name, j) => {
    picture.append(label(name, `translate(${left + cell * (j + 0.5) + 3},${top - 5}) rotate(-90)`, "start"));
  });
  rows.forEach((name, i) => {
    picture.append(label(name, `translate(${left - 5},${top + cell * (i + 0.5) + 3})`, "end"));
  });
  matrix.forEach((row, i) =>
    row.forEach((weight, j) => {
      const box = { x: left + cell * j, y: top + cell * i, width: cell - 1, height: cell - 1, rx: 2 };
      const square = svg("rect", box);
      square.style.setProperty("--weight", `${Math.round(100 * Math.sqrt(Math.max(0, weight)))}%`);
      square.addEventListener("pointerenter", () => {
        hint.textContent = `${rows[i]} → ${columns[j]}: ${percent(weight)}`;
      });
      picture.append(square);
    }),
  );
  const frame = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title }, picture);
  return element("figure", { class: "map" }, element("figcaption", {}, title), frame, hint);
}

function label(name, transform, anchor) {
  const made = svg("text", { transform, "text-anchor": anchor });
  made.textContent = short(name);
  return made;
}

function short(name) {
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
}
