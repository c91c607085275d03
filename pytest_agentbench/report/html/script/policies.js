// Policies against complexity and tools: where an agent fails, and what no run has tried.

const between = (value) => (value ? `${Math.round(value[3] * 100)}\u2013${Math.round(value[4] * 100)}` : "\u2013");

function matrix(title, told, one, given, field) {
  if (!given.columns.length || !one.totals.length) return null;
  const empty = `${given.holes.toLocaleString("en")} of ${(given.columns.length * one.totals.length).toLocaleString("en")} cells have no run (\u00b7).`;
  return h("section", { class: "card wide" }, h("h2", {}, title),
    h("p", { class: "muted small" }, `${told} ${empty} Choose a cell to see its runs.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      h("table", { class: "grid dense" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "policy"), given.columns.map((label) => h("th", { scope: "col" }, soft(label))), h("th", { scope: "col" }, "all"), h("th", { scope: "col" }, "95 % interval"))),
        h("tbody", {}, one.totals.map(([label, all], at) => h("tr", {}, h("th", { scope: "row" }, soft(label)),
          given.cells[at].map((value, place) => cell(value, link({ policy: label, [field]: field === "level" ? undefined : given.columns[place] }), `${label}, ${given.columns[place]}`)),
          cell(all, link({ policy: label }), label), h("td", { class: "muted small" }, between(all))))))));
}

function levels(one) {
  if (!one.levels.length) return null;
  const line = (value) => [h("td", { class: "number" }, value ? `${value[0]}/${value[1]}` : "\u2013"), h("td", { class: "number" }, percent(value ? value[2] : null)), h("td", { class: "number muted" }, between(value))];
  const heads = ["runs", "passed", "95 %"].map((name) => h("th", { scope: "col", class: "number" }, name));
  return h("section", { class: "card" }, h("h2", {}, "By complexity, and at or above it"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "success by complexity" }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "colgroup", colspan: 3 }, "exactly"), h("th", { scope: "colgroup", colspan: 3 }, "at or above")),
        h("tr", {}, h("th", { scope: "col" }, `complexity (${one.scale})`), heads, heads.map((head) => head.cloneNode(true)))),
      h("tbody", {}, one.levels.map(([label, exact, above]) => h("tr", {}, h("th", { scope: "row" }, label), line(exact), line(above)))))));
}

function plans(one) {
  const heads = ["planned", "exercised", "not told", "unplanned"];
  return h("section", { class: "card" }, h("h2", {}, "Planned and exercised"),
    h("p", { class: "muted small" }, "Scored runs whose scenario lists a policy, those that exercised it, those where no check can tell, and runs that exercised what they do not list."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "planned and exercised policies" }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "policy"), heads.map((name) => h("th", { scope: "col", class: "number" }, name)))),
      h("tbody", {}, one.plans.map(([label, ...counts]) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: link({ policy: label }) }, soft(label))), counts.map((count) => h("td", { class: "number" }, count))))))));
}

function pairs(title, given, all) {
  if (!given.count) return null;
  return h("section", { class: "card" }, h("h2", {}, title),
    h("details", {}, h("summary", {}, `${given.count.toLocaleString("en")} of ${plural(all, "pair")}`),
      h("ul", { class: "small" }, given.listed.map(([left, right]) => h("li", {}, soft(left), " + ", soft(right)))),
      given.count > given.listed.length ? h("p", { class: "muted small" }, `${plural(given.count - given.listed.length, "more pair")}; \u201cagentbench report --matrix\u201d counts them all.`) : null));
}

function policies() {
  return h("div", { class: "overview" }, DATA.policies.map((one) => [
    DATA.policies.length > 1 ? h("h2", {}, one.suite) : null,
    h("div", { class: "cards" },
      matrix("Policy \u00d7 complexity", "How often a policy was kept where it was exercised, or, where no check can tell, how often runs that list it passed.", one, one.by_complexity, "level"),
      matrix("Policy \u00d7 tool", "The same, in runs that called a tool.", one, one.by_tool, "tool"),
      levels(one), plans(one),
      pairs("Pairs that no scenario plans", one.untried, one.pairs), pairs("Pairs planned and never exercised together", one.unmet, one.pairs)),
  ]));
}
