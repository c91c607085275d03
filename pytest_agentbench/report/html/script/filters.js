// Which runs are listed: choices that stand in the address, so that a view can be linked to.

const FIELDS = {
  verdict: (row) => [row.verdict], policy: (row) => row.policies, broken: (row) => row.broken, variant: (row) => [row.variant], fault: (row) => [row.fault],
  level: (row) => [row.level], tag: (row) => row.tags, blame: (row) => [row.blame], termination: (row) => [row.termination],
  tool: (row) => row.tools, suite: (row) => [row.suite],
};
const NAMES = { verdict: "verdict", policy: "policy", variant: "variant", fault: "fault", level: "complexity", tag: "tag", blame: "blame", termination: "ending", tool: "tool", suite: "suite" };

const link = (wanted) => {
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value !== "" && value !== undefined)).toString();
  return query ? `#runs?${query}` : "#runs";
};

function matches(place, wanted) {
  const row = ROWS[place];
  for (const [key, values] of Object.entries(FIELDS)) if (wanted[key] && !values(row).includes(wanted[key])) return false;
  const words = (wanted.q || "").toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return true;
  const name = row.name.toLowerCase();
  if (words.every((word) => name.includes(word))) return true;
  const text = haystack(place);
  return words.every((word) => text.includes(word));
}

function counted(key) {
  const counts = new Map();
  for (const row of ROWS) for (const value of new Set(FIELDS[key](row))) if (value) counts.set(value, (counts.get(value) || 0) + 1);
  const first = (value) => parseFloat(value);
  return [...counts].sort(([one], [other]) => (key === "level" ? first(one) - first(other) : 0) || one.localeCompare(other));
}

// The controls; `changed` hears of every new choice.
function filterBar(wanted, changed) {
  const search = h("input", { type: "search", id: "search", placeholder: "Search runs and conversations", "aria-label": "Search runs and conversations", autocomplete: "off", spellcheck: "false", on: { input: () => changed({ q: search.value }) } });
  search.value = wanted.q || "";
  const options = (key, prefix) => counted(key).map(([value, count]) => option(`${prefix}${value}`, `${key === "verdict" ? WORDS[value] : value} (${count})`, wanted[key] === value));
  const option = (value, text, chosen) => { const one = h("option", { value }, text); one.selected = Boolean(chosen); return one; };
  const selects = Object.entries(NAMES).map(([key, name]) => {
    const held = counted(key);
    if (held.length < 2 && !wanted[key] && !(key === "policy" && held.length)) return null;
    const broken = key === "policy" ? counted("broken") : [];
    const choose = () => {
      const value = select.value;
      if (key !== "policy") return changed({ [key]: value });
      return changed(value.startsWith("broken:") ? { policy: "", broken: value.slice(7) } : { policy: value.slice(7), broken: "" });
    };
    const select = h("select", { "aria-label": name, class: wanted[key] || (key === "policy" && wanted.broken) ? "set" : null, on: { change: choose } },
      option("", `any ${name}`, false),
      key === "policy"
        ? [broken.length ? h("optgroup", { label: "broken" }, options("broken", "broken:")) : null, h("optgroup", { label: "exercised or listed" }, options("policy", "policy:"))]
        : options(key, ""));
    return select;
  });
  const set = Object.entries(wanted).filter(([key, value]) => value && key !== "q").length;
  const clear = set || wanted.q ? h("button", { type: "button", class: "plain", on: { click: () => changed(null) } }, "Clear") : null;
  return h("search", { class: "filters" }, search, h("details", { class: "choices", open: window.matchMedia("(min-width: 60rem)").matches || set > 0 },
    h("summary", {}, set ? `${plural(set, "filter")} set` : "Filters"), h("div", {}, selects, clear)));
}
