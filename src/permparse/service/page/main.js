// The page: two sentences side by side, one like those of training and one deeper.

import { ServiceError, describeModel, useToken } from "./api.js";
import { Panel } from "./panel.js";

const status = document.getElementById("model");
const form = document.getElementById("token-form");

async function start() {
  let model;
  try {
    model = await describeModel();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    form.hidden = error.status !== 401;
    status.textContent = error.message;
    return;
  }
  form.hidden = true;
  status.textContent = `${model.name} · ${model.facts.join(" · ")}`;
  const { samples } = model;
  const titles = samples.length ? ["Shallow, as in training", "Deeper than anything in training"] : ["One sentence", "Another"];
  const [shallow, deep] = titles.map((title) => new Panel(title, samples));
  document.getElementById("panels").replaceChildren(shallow.root, deep.root);
  if (samples.length) await Promise.all([shallow.ask(samples[0]), deep.ask(samples[Math.ceil(samples.length / 2)])]);
  document.body.dataset.ready = "true";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(document.getElementById("token").value);
  start();
});

start();
