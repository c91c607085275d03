// Beyond one session's rates: changes since a baseline, several trials, faults at the tools.

const APART = { changed: "changed since, not compared", added: "new", removed: "gone", players: "played by others, not compared", unscored: "not scored on both sides" };

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "\u2212" : ""}${Math.round(Math.abs(value) * 100)}`;

function changes() {
  return DATA.changes.map((one) => {
    const success = one.success;
    const flips = (label, list) => list.length ? [h("h3", {}, `${label} (${list.length})`), h("ul", { class: "flips" }, list.map(([name, told]) => h("li", {}, h("a", { href: link({ q: name }) }, name), h("span", { class: "muted" }, ` ${told}`))))] : null;
    return h("section", { class: "card wide" }, h("h2", {}, `Against the baseline${one.name ? `: ${one.name}` : ""}`),
      success ? h("p", { class: success.significant ? (success.second < success.first ? "verdict-line failed" : "verdict-line passed") : "verdict-line" },
        h("b", {}, `${percent(success.first)} \u2192 ${percent(success.second)}`), h("span", { class: "muted" }, ` over ${plural(one.scenarios, "scenario")}, ${signed(success.difference[0])} points (95 % interval ${signed(success.difference[1])} to ${signed(success.difference[2])}, p ${success.p})`)) : h("p", { class: "muted" }, "No scenario could be compared."),
      one.policies.map((policy) => h("p", {}, h("a", { href: link({ policy: policy.title }) }, policy.title), h("span", { class: "muted" }, ` ${percent(policy.first)} \u2192 ${percent(policy.second)} (p ${policy.p})`))),
      h("div", { class: "two" }, [flips("Passes less often", one.lost), flips("Passes more often", one.won)].filter(Boolean).map((part) => h("div", {}, part))),
      one.more ? h("p", { class: "muted small" }, `and ${one.more} more`) : null,
      one.apart.map(([why, count, detail]) => h("p", { class: "muted small" }, `${APART[why]}: ${plural(count, "scenario")}${detail ? ` (${detail})` : ""}`)));
  });
}

function trials() {
  const given = DATA.trials;
  if (!given) return null;
  const rate = ([value, low, high]) => [h("td", { class: "number strong" }, percent(value)), h("td", { class: "plot" }, interval({ rate: value, low, high }))];
  return h("section", { class: "card wide" }, h("h2", {}, "Several trials"),
    given.left_out ? h("p", { class: "muted small" }, `${plural(given.left_out, "trial")} were not needed to decide.`) : null,
    given.passes.length ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "trials" }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, ["trials", "scenarios", "pass@k", "at least one of k trials passes", "pass^k", "all k pass"].map((name, place) => h("th", { scope: "col", class: [1, 2, 4].includes(place) ? "number" : null }, name)))),
      h("tbody", {}, given.passes.map(([k, n, some, every]) => h("tr", {}, h("th", { scope: "row" }, `k = ${k}`), h("td", { class: "number" }, n), rate(some), rate(every)))))) : null,
    h("h3", {}, `Flaky: ${given.flaky.length || "none"} of ${plural(given.scenarios, "scenario")}`),
    h("ul", { class: "flips" }, given.flaky.map(([scenario, name, passed, n]) => h("li", {}, h("a", { href: link({ q: scenario }) }, name), h("span", { class: "muted" }, ` ${passed} of ${n}`)))));
}

function faults() {
  if (!DATA.faults.length) return null;
  return h("section", { class: "card wide" }, h("h2", {}, "Faults at the tools"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "faults" }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, ["fault", "runs", "struck", "recovered", "given up", "made up", "passed"].map((name, place) => h("th", { scope: "col", class: place ? "number" : null }, name)))),
      h("tbody", {}, DATA.faults.map((row) => h("tr", { class: row.handled && row.handled[2] ? "missed" : null }, h("th", { scope: "row" }, h("a", { href: link({ q: row.name }) }, row.name)),
        [row.runs, row.met, ...(row.handled || ["\u2013", "\u2013", "\u2013"]), `${row.passed} / ${row.met}`].map((value) => h("td", { class: "number" }, value))))))));
}
