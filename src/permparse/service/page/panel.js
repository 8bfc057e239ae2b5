// One sentence and everything known about its parse.

import { ServiceError, parse } from "./api.js";
import { element, hue, percent } from "./dom.js";
import { Drawing } from "./drawing.js";
import { heatMap } from "./heat.js";
import { laidOut } from "./output.js";

const STEP_MS = 240;
const SHALLOW = "Shallow, as in training";
const DEEP = "Deeper than anything in training";
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
let made = 0;

export class Panel {
  constructor(name, model) {
    this.root = document.getElementById("panel").content.cloneNode(true).firstElementChild;
    const find = (selector) => this.root.querySelector(selector);
    this.parts = {};
    for (const name of [
      "ask", "sentence", "samples", "problem", "result", "drawing", "play", "step", "step-text", "output",
      "strip", "doubts", "others", "maps", "times", "confidence-text", "meter", "map-pair", "time-list",
    ]) this.parts[name] = find(`.${name}`);
    this.model = model;
    this.title = find(".title");
    this.title.textContent = name;
    this.nameControls(find, name);
    this.drawing = new Drawing(this.parts.drawing, (step) => this.trace(step, true));
    this.offer();
    this.parts.ask.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    const { sentence } = this.parts;
    sentence.addEventListener("input", () => this.fit());
    sentence.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      this.parts.ask.requestSubmit();
    });
    new ResizeObserver(() => this.fit()).observe(this.root);
    this.parts.step.addEventListener("input", () => this.trace(Number(this.parts.step.value), true));
    this.parts.play.addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    this.parts.drawing.addEventListener("pointerleave", () => !this.timer && this.trace(this.last(), true));
  }

  nameControls(find, panel) {
    made += 1;
    for (const [control, name, what] of [
      [this.parts.sentence, ".ask-label", "Sentence"],
      [this.parts.samples, ".pick-label", "Example"],
      [this.parts.step, ".trace-label", "Trace the jumps"],
    ]) {
      control.id = `${name.slice(1)}-${made}`;
      find(name).htmlFor = control.id;
      find(name).textContent = `${what}: ${panel}`;
    }
  }

  offer() {
    const { samples: select, sentence } = this.parts;
    const group = (label, samples) =>
      element("optgroup", { label }, ...samples.map((sample) => element("option", { value: sample }, sample)));
    select.append(element("option", { value: "" }, "Examples …"));
    select.append(group(SHALLOW, this.model.samples), group(DEEP, this.model.deep_samples));
    select.hidden = !this.model.samples.length && !this.model.deep_samples.length;
    select.addEventListener("change", () => {
      if (!select.value) return;
      sentence.value = select.value;
      select.value = "";
      this.ask();
    });
  }

  // All of the sentence is seen, in as many lines as it needs.
  fit() {
    const { sentence } = this.parts;
    sentence.style.height = "auto";
    sentence.style.height = `${sentence.scrollHeight + 2}px`;
  }

  async ask(typed = this.parts.sentence.value) {
    const { sentence, problem, result } = this.parts;
    const text = typed.replace(/\s+/g, " ").trim();
    sentence.value = text;
    this.fit();
    if (!text) return;
    const { samples, deep_samples: deep } = this.model;
    this.title.textContent = samples.includes(text) ? SHALLOW : deep.includes(text) ? DEEP : "Your sentence";
    this.root.setAttribute("aria-busy", "true");
    try {
      this.show(await parse(text));
      problem.hidden = true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
      result.hidden = true;
    } finally {
      this.root.removeAttribute("aria-busy");
    }
  }

  show(answer) {
    this.answer = answer;
    const { parse: found } = answer;
    const { result, step, output } = this.parts;
    result.hidden = false;
    const drawn = found.multisets.length > 0;
    this.parts.drawing.hidden = !drawn;
    this.root.querySelector(".tracer").hidden = !found.order.length;
    output.textContent = found.output ? laidOut(found.output) : "(empty)";
    this.showConfidence(found);
    this.showDoubts(answer.explanation?.doubts ?? []);
    this.showStrip(found);
    this.showAlternatives(found.alternatives);
    this.showMaps(found, answer.explanation);
    this.showTimes(answer.explanation?.seconds ?? {});
    if (!drawn) return;
    this.drawing.show(answer);
    step.max = String(this.last());
    this.pause();
    if (calm.matches) this.trace(this.last());
    else this.play();
  }

  last() {
    return this.answer?.parse.order.length ?? 0;
  }

  trace(step, byHand = false) {
    if (byHand) this.pause();
    this.drawing.trace(step);
    const { parse: found, explanation } = this.answer;
    const text = stepText(found, explanation, step);
    this.parts.step.value = String(step);
    this.parts.step.setAttribute("aria-valuetext", text);
    this.parts["step-text"].textContent = text;
    [...this.parts.strip.children].forEach((item, position) => item.classList.toggle("now", position === step));
  }

  play() {
    let step = Number(this.parts.step.value) >= this.last() ? 0 : Number(this.parts.step.value);
    this.parts.play.textContent = "Pause";
    this.parts.play.setAttribute("aria-pressed", "true");
    const tick = () => {
      this.trace(step);
      if (step >= this.last()) {
        this.pause();
        return;
      }
      step += 1;
      this.timer = setTimeout(tick, STEP_MS);
    };
    tick();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.parts.play.textContent = "Play";
    this.parts.play.setAttribute("aria-pressed", "false");
  }

  showConfidence(found) {
    const proof = found.proven_optimal ? "best order, proven" : "best order found, not proven";
    const bar = this.parts.meter.firstElementChild;
    bar.style.width = `${100 * found.confidence}%`;
    bar.className = found.confidence >= 0.8 ? "high" : found.confidence >= 0.4 ? "fair" : "low";
    this.parts["confidence-text"].textContent = `${percent(found.confidence)} confident · ${proof}`;
  }

  showDoubts(doubts) {
    this.parts.doubts.hidden = !doubts.length;
    const list = this.parts.doubts.querySelector("ul");
    list.replaceChildren(
      ...doubts.map((doubt) => {
        if (doubt.kind !== "jump") return element("li", {}, doubt.message);
        const button = element("button", { type: "button", class: "link" }, doubt.message);
        button.addEventListener("click", () => this.trace(doubt.at, true));
        return element("li", {}, button);
      }),
    );
  }

  showStrip(found) {
    this.parts.strip.replaceChildren(
      ...found.tokens.map((token, position) => {
        const item = element("li", { class: "chip" }, token);
        if (found.source_index.length) item.style.setProperty("--hue", hue(found.source_index[position]));
        item.addEventListener("pointerenter", () => this.trace(position, true));
        return item;
      }),
    );
  }

  showAlternatives(alternatives) {
    this.parts.others.hidden = alternatives.length < 2;
    const head = element("tr", {}, ...["confidence", "log score", "output"].map((h) => element("th", { scope: "col" }, h)));
    const rows = alternatives.map((one) =>
      element("tr", {}, ...[percent(one.confidence), one.log_score.toFixed(2), one.output].map((v) => element("td", {}, v))),
    );
    this.parts.others.querySelector(".scroll").replaceChildren(
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
    );
  }

  showMaps(found, explanation) {
    const { maps, "map-pair": pair } = this.parts;
    maps.hidden = !explanation?.u.length;
    if (maps.hidden) return;
    const tokens = [];
    found.order.forEach((token, position) => (tokens[token] = found.tokens[position]));
    const ordered = found.order.map((token) => found.tokens[found.order.indexOf(token)]);
    const byOrder = (matrix) => found.order.map((k) => found.order.map((i) => matrix[k][i]));
    const positions = found.order.map((_, j) => String(j + 1));
    const draw = () =>
      pair.replaceChildren(
        heatMap("U*: token at output position", "Heat map of U*: how much of each token stands at each output position",
          explanation.u, tokens, positions),
        heatMap("Jumps: from token to next token, in output order", "Heat map of the jump marginals, tokens in output order",
          byOrder(explanation.jump_marginals), ordered, ordered),
      );
    pair.replaceChildren();
    maps.ontoggle = () => maps.open && !pair.children.length && draw();
    if (maps.open) draw();
  }

  showTimes(seconds) {
    const stages = Object.entries(seconds);
    const most = Math.max(...stages.map(([, s]) => s), 1e-9);
    this.parts.times.hidden = !stages.length;
    this.parts["time-list"].replaceChildren(
      ...stages.map(([stage, s]) => {
        const bar = element("span", { class: "bar" });
        bar.style.width = `${(70 * s) / most}%`;
        return element("div", {}, element("dt", {}, stage), element("dd", {}, bar, `${(1000 * s).toFixed(1)} ms`));
      }),
    );
  }
}

function stepText(found, explanation, step) {
  const count = found.order.length;
  if (step >= count) return `${count} tokens, ${Math.max(0, count - 1)} jumps`;
  const sure = explanation?.step_probs.length ? ` · ${percent(explanation.step_probs[step])}` : "";
  if (step === 0) return `Start at “${found.tokens[0]}”${sure}`;
  return `Jump ${step} of ${count - 1}: “${found.tokens[step - 1]}” → “${found.tokens[step]}”${sure}`;
}
