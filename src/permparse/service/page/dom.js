// Small helpers to build elements.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function svg(tag, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export const percent = (p) => (p > 0.995 && p < 1 ? "> 99%" : `${Math.round(100 * p)}%`);

// Hues a golden angle apart: neighbours never look alike.
export const hue = (word) => Math.round((215 + 137.508 * word) % 360);

export const shownWord = (word) => (word === "<end>" ? "⏎" : word);
