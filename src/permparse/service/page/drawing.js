// Words with their multisets as chips, and the jumps between chips as arcs.
//
// Words stand side by side with chips below them, closer together if need be; where that is too wide they stand below
// each other, chips beside them.

import { element, hue, shownWord, svg } from "./dom.js";

const HEAD = 5;

export class Drawing {
  constructor(root, onTrace) {
    this.words = element("ol", { class: "words" });
    this.arcs = svg("svg", { class: "arcs", "aria-hidden": "true" });
    this.frame = element("div", { class: "frame" }, this.arcs, this.words);
    root.append(this.frame);
    this.root = root;
    this.onTrace = onTrace;
    this.steps = [];
    this.current = 0;
    new ResizeObserver(() => this.layOut()).observe(root);
  }

  show({ parse, explanation }) {
    const place = new Map(parse.order.map((token, position) => [token, position]));
    const unsure = new Map((explanation?.doubts ?? []).map((doubt) => [`${doubt.kind} ${doubt.at}`, doubt.message]));
    const chips = [];
    this.words.replaceChildren();
    parse.words.forEach((word, i) => {
      const list = element("ul", { class: "chips" });
      for (const token of parse.multisets[i]) {
        const position = place.get(chips.length);
        const chip = element("li", { class: "chip" }, token, element("span", { class: "place" }, String(position + 1)));
        chip.style.setProperty("--hue", hue(i));
        chip.addEventListener("pointerenter", () => this.onTrace(position));
        chips.push(chip);
        list.append(chip);
      }
      if (!parse.multisets[i].length) list.append(element("li", { class: "none" }, "∅"));
      const text = element("span", { class: "text" }, shownWord(word));
      const doubt = unsure.get(`unknown ${i}`) ?? unsure.get(`multiset ${i}`);
      if (doubt) {
        text.classList.add("unsure");
        text.title = doubt;
      }
      this.words.append(element("li", { class: "word" }, text, list));
    });
    this.chips = parse.order.map((token) => chips[token]);
    this.doubtful = new Set((explanation?.doubts ?? []).filter((d) => d.kind === "jump").map((d) => d.at));
    this.wordOf = parse.source_index;
    this.current = parse.order.length;
    this.layOut();
  }

  // Position 0 shows all chips and no jump, position j the jump that leads to the token at j, the last one all jumps.
  trace(step) {
    this.current = step;
    const all = step >= this.chips.length;
    this.root.classList.toggle("complete", all);
    this.steps.forEach(({ group }, index) => {
      const jump = index + 1;
      group.classList.toggle("now", !all && jump === step);
      group.classList.toggle("past", all || jump < step);
    });
    this.chips.forEach((chip, position) => {
      chip.classList.toggle("now", !all && position === step);
      chip.classList.toggle("visited", all || position <= step);
    });
    const now = this.steps[step - 1];
    if (!all && now) this.arcs.append(now.group);
  }

  // The first layout that fits; rows always do.
  chooseLayout() {
    const fits = (name) => {
      this.frame.className = `frame ${name}`;
      return name === "rows" || this.words.scrollWidth <= this.root.clientWidth + 1;
    };
    return ["columns", "columns dense", "rows"].find(fits);
  }

  layOut() {
    if (!this.chips) return;
    const rows = this.chooseLayout() === "rows";
    const frame = this.frame.getBoundingClientRect();
    const boxes = this.chips.map((chip) => {
      const box = chip.getBoundingClientRect();
      return { x: box.left - frame.left, y: box.top - frame.top, w: box.width, h: box.height };
    });
    const edge = Math.max(0, ...boxes.map((b) => (rows ? b.x + b.w : b.y + b.h)));
    const room = rows ? Math.min(240, this.root.clientWidth - edge - 6) : Math.min(150, 50 + frame.width / 8);
    const reach = Math.max(0, ...boxes.slice(1).map((b, j) => span(boxes[j], b, rows)));
    this.arcs.replaceChildren();
    this.steps = boxes.slice(1).map((to, j) => {
      const from = boxes[j];
      const same = this.wordOf[j] === this.wordOf[j + 1];
      const group = svg("g", { class: "jump" });
      group.style.setProperty("--hue", hue(this.wordOf[j]));
      if (this.doubtful.has(j + 1)) group.classList.add("unsure");
      const depth = room * Math.min(1, Math.sqrt(span(from, to, rows) / Math.max(reach, 260)));
      const { line, head } = same ? inside(from, to, rows) : around(from, to, rows, edge, depth);
      group.append(svg("path", { class: "line", d: line, pathLength: 1 }), svg("path", { class: "head", d: head }));
      group.addEventListener("pointerenter", () => this.onTrace(j + 1));
      return { group };
    });
    this.arcs.append(...this.steps.map(({ group }) => group));
    const deepest = rows ? 0 : Math.max(0, ...this.steps.map(({ group }) => lowest(group)));
    this.frame.style.minHeight = `${Math.ceil(deepest) + 4}px`;
    this.trace(this.current);
  }
}

const middle = (b) => ({ x: b.x + b.w / 2, y: b.y + b.h / 2 });
const span = (a, b, rows) => (rows ? Math.abs(a.y - b.y) : Math.abs(middle(a).x - middle(b).x));

function lowest(group) {
  const numbers = group.firstChild.getAttribute("d").match(/-?[\d.]+/g).map(Number);
  const [y1, c1, c2, y2] = [numbers[1], numbers[3], numbers[5], numbers[7]];
  return Math.max(y1, y2, (y1 + 3 * c1 + 3 * c2 + y2) / 8);
}

// A jump to another word: out of the far side of one chip, around all chips, into the far side of the other.
function around(from, to, rows, edge, depth) {
  if (rows) {
    const [y1, y2] = [middle(from).y + 4, middle(to).y - 4];
    const [x1, x2] = [from.x + from.w, to.x + to.w + HEAD];
    const c = edge + (4 / 3) * Math.max(12, depth) - 8;
    return {
      line: `M${x1},${y1} C${c},${y1} ${c},${y2} ${x2},${y2}`,
      head: `M${x2 - HEAD},${y2} l${HEAD + 1},-3.500 v7 z`,
    };
  }
  const right = middle(to).x > middle(from).x;
  const x1 = middle(from).x + (right ? 5 : -5);
  const x2 = middle(to).x + (right ? -5 : 5);
  const [y1, y2] = [from.y + from.h, to.y + to.h + HEAD];
  const c = edge + (4 / 3) * Math.max(14, depth) - 10;
  return {
    line: `M${x1},${y1} C${x1},${c} ${x2},${c} ${x2},${y2}`,
    head: `M${x2},${y2 - HEAD} l-3.500,${HEAD + 1} h7 z`,
  };
}

// A jump inside a multiset: a short curve beside the chips.
function inside(from, to, rows) {
  if (rows) {
    const [x1, x2] = [middle(from).x, middle(to).x];
    const y = from.y - 1;
    return { line: `M${x1},${y} C${x1},${y - 9} ${x2},${y - 9} ${x2},${y - 2}`, head: `M${x2},${y + 1} l-3,-5 h6 z` };
  }
  const [y1, y2] = [middle(from).y, middle(to).y];
  const x = Math.max(from.x + from.w, to.x + to.w) + 9;
  const [x1, x2] = [from.x + from.w, to.x + to.w];
  return { line: `M${x1},${y1} C${x},${y1} ${x},${y2} ${x2 + 3},${y2}`, head: `M${x2},${y2} l5,-3 v6 z` };
}
