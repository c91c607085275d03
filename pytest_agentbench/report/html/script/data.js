// What the page holds: figures at once, the details of a run when they are asked for.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = DATA.rows;
const opened = new Map();
const haystacks = new Array(ROWS.length);

function details(place) {
  if (!opened.has(place)) {
    const part = document.getElementById(`run-${place}`);
    if (!part) return null;
    opened.set(place, JSON.parse(part.textContent));
    if (opened.size > 50) opened.delete(opened.keys().next().value);
  }
  return opened.get(place);
}

function collect(value, words) {
  if (typeof value === "string") words.push(value);
  else if (Array.isArray(value)) for (const one of value) collect(one, words);
  else if (value && typeof value === "object") for (const [name, one] of Object.entries(value)) { words.push(name); collect(one, words); }
}

// The text of a run that a search looks through, without the names of fields.
function haystack(place) {
  if (haystacks[place] === undefined) {
    const row = ROWS[place];
    const words = [row.name, row.title, row.variant, row.line, row.suite, row.termination, ...row.policies, ...row.tags, ...row.tools];
    const part = document.getElementById(`run-${place}`);
    if (part) {
      const held = JSON.parse(part.textContent);
      for (const message of held.messages || []) {
        words.push(message.text);
        for (const call of message.calls || []) { words.push(call.name, call.raw || ""); collect(call.arguments, words); }
        for (const one of message.waits || []) { words.push(one.name); collect(one.arguments, words); }
      }
      for (const finding of held.findings) words.push(finding.check, finding.message, finding.quote);
      for (const call of held.calls) { words.push(call.tool); collect(call.expected, words); }
      words.push(held.error, held.stop, held.not_run);
    }
    const text = words.join("\n").toLowerCase();
    if (!part && document.readyState === "loading") return text;
    haystacks[place] = text;
  }
  return haystacks[place];
}

// Fill the search texts while nobody waits for anything.
function prepareSearch() {
  let next = 0;
  const later = window.requestIdleCallback || ((act) => setTimeout(() => act({ timeRemaining: () => 8 }), 30));
  const some = (deadline) => {
    while (next < ROWS.length && deadline.timeRemaining() > 2) haystack(next++);
    if (next < ROWS.length) later(some);
  };
  later(some);
}
