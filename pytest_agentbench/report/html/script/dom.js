// Building elements: text always goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === "vars") for (const [key, one] of Object.entries(value)) node.style.setProperty(`--${key}`, one);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

// An identifier that may be broken after its separators.
const soft = (text) => text.split(/(?<=[_.\/:-])/).flatMap((part, place) => (place ? [h("wbr"), part] : [part]));

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

function percent(rate) {
  if (rate === null || rate === undefined) return "\u2013";
  if (rate >= 0.995 && rate < 1) return ">99 %";
  if (rate > 0 && rate < 0.005) return "<1 %";
  return `${Math.round(rate * 100)} %`;
}

function figure(value, digits) {
  if (value === null || value === undefined) return "\u2013";
  const text = value.toFixed(digits);
  return digits === 2 && value < 1 && text === "1.00" ? "0.99" : text;
}

const SHAPES = {
  passed: "M3.5 8.5l3 3 6-7",
  failed: "M4 4l8 8M12 4l-8 8",
  unscored: "M4 8h8",
  copy: "M6 6V3h7v7h-3M3 6h7v7H3z",
  back: "M10 3L5 8l5 5",
  turn: "M3 8h9M8 4l4 4-4 4",
};

const icon = (name, label) =>
  s("svg", { class: `icon is-${name}`, viewBox: "0 0 16 16", role: label ? "img" : null, "aria-label": label || null, "aria-hidden": label ? null : "true" },
    s("path", { d: SHAPES[name] }));

const WORDS = { passed: "passed", failed: "failed", unscored: "not scored" };
const worded = (row) => (row.open ? `${WORDS[row.verdict]} (${plural(row.open, "part")} \u2013)` : WORDS[row.verdict]);
