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
  const [shallow, deep] = ["First sentence", "Second sentence"].map((name) => new Panel(name, model));
  document.getElementById("panels").replaceChildren(shallow.root, deep.root);
  await Promise.all([shallow.ask(model.samples[0] ?? ""), deep.ask(model.deep_samples[0] ?? "")]);
  document.body.dataset.ready = "true";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(document.getElementById("token").value);
  start();
});

start();
