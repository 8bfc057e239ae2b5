// An output laid out readably: one clause per line, deep brackets indented.

const WIDE = 56;
const OPEN = "([{";
const CLOSE = ")]}";

export function laidOut(output) {
  return clauses(output)
    .map((clause) => (clause.length > WIDE ? indented(clause) : clause))
    .join("\n");
}

// Cut after every semicolon outside of brackets.
function clauses(text) {
  const found = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (OPEN.includes(text[i])) depth += 1;
    if (CLOSE.includes(text[i])) depth -= 1;
    if (text[i] === ";" && depth <= 0) {
      found.push(text.slice(start, i + 1).trim());
      start = i + 1;
    }
  }
  const rest = text.slice(start).trim();
  return rest ? [...found, rest] : found;
}

function indented(text) {
  let depth = 0;
  let line = "";
  const lines = [];
  const end = () => {
    if (line.trim()) lines.push("  ".repeat(Math.max(0, depth)) + line.trim());
    line = "";
  };
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (OPEN.includes(sign)) {
      const close = closing(text, i);
      if (close >= 0 && close - i <= WIDE) {
        line += text.slice(i, close + 1);
        i = close;
        continue;
      }
      line += sign;
      end();
      depth += 1;
    } else if (CLOSE.includes(sign)) {
      end();
      depth -= 1;
      line += sign;
    } else if (sign === "," && depth > 0) {
      line += sign;
      end();
    } else {
      line += sign;
    }
  }
  end();
  return lines.join("\n");
}

function closing(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i += 1) {
    if (OPEN.includes(text[i])) depth += 1;
    if (CLOSE.includes(text[i])) depth -= 1;
    if (depth === 0) return i;
  }
  return -1;
}
