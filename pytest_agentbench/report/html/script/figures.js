// The overview: how many passed and how sure that is, gates, the worst runs, and rows for every way to look at them.

const KEYS = { policy: "policy", complexity: "level", tool: "tool", tag: "tag", variant: "variant", suite: "suite", "tests of your own": "suite" };

function interval(row, gates) {
  if (row.rate === null) return h("span", { class: "interval none" }, "not measured");
  const label = `${percent(row.rate)}, 95 % interval ${Math.round(row.low * 100)} to ${Math.round(row.high * 100)} %`;
  return h("span", { class: `interval${row.missed ? " missed" : ""}`, role: "img", "aria-label": label, title: label, vars: { low: row.low, high: row.high, rate: row.rate } },
    h("span", { class: "band" }), h("span", { class: "dot" }),
    (gates || []).map((gate) => h("span", { class: "gate", title: `gate ${gate}`, vars: { gate } })));
}

const range = (row) => (row.rate === null ? "\u2013" : `${Math.round(row.low * 100)}\u2013${Math.round(row.high * 100)} %`);

function hero() {
  const all = DATA.all, facts = DATA.facts;
  const thresholds = [...new Set(all.gates)];
  const failed = DATA.gates.length ? DATA.gates.some((gate) => gate.failed) : all.n > all.passed;
  const sentence = all.n ? `${all.passed.toLocaleString("en")} of ${plural(all.n, "run")} passed` : "No run was scored";
  return h("section", { class: "hero", "aria-label": "Result" },
    h("div", { class: "score" },
      // a rate over several variants would be that of no agent
      h("p", { class: `big ${all.n ? (failed ? "failed" : "passed") : ""}` }, all.pooled ? `${all.passed}/${all.n}` : percent(all.rate)),
      h("div", {},
        h("p", { class: "sentence" }, sentence, DATA.partly ? h("span", {}, `, ${DATA.partly} with something not measured`) : null, all.unscored ? h("span", { class: "muted" }, ` \u00b7 ${all.unscored} not scored`) : null),
        all.pooled ? null : interval(all, thresholds),
        h("p", { class: "muted small" }, all.pooled ? "several variants: their rates stand side by side below" : all.n ? `95 % interval ${range(all)}` : "no rate can be given", thresholds.length ? ` \u00b7 gate ${thresholds.map(percent).join(", ")}` : ""))),
    all.pooled ? null : h("dl", { class: "means" }, MEANS.map(([name, digits, told], place) =>
      h("div", { title: told }, h("dt", {}, name), h("dd", {}, figure(all.means[place], digits))))),
    DATA.reviews.map((text) => h("p", { class: "muted" }, text)),
    facts.complete ? null : h("p", { class: "notice warn" }, `Cut short: not every one of ${plural(Math.max(facts.selected, facts.runs), "run")} came to its end.`));
}

const MEANS = [
  ["R_name", 2, "share of expected calls made, by name"],
  ["R_strict", 2, "share of expected calls made, with the right arguments"],
  ["agent turns", 1, "turns of the agent a run"],
  ["calls", 1, "tool calls a run"],
];

function gates() {
  if (!DATA.gates.length && !DATA.ungated.length) return null;
  return h("section", { class: "card" }, h("h2", {}, "Gates"),
    DATA.gates.length ? h("ul", { class: "gates" }, DATA.gates.map((gate) =>
      h("li", { class: gate.failed ? "failed" : "passed" },
        gate.passed === null ? icon("unscored", "not evaluated") : icon(gate.failed ? "failed" : "passed", gate.failed ? "failed" : "holds"),
        h("code", {}, gate.label), h("span", { class: "muted" }, gate.reason),
        h("span", { class: "muted small", title: "how often an agent exactly this good would fail this gate in as many runs" },
          `n ${gate.n}${gate.near === null ? "" : ` \u00b7 fails by luck ${percent(gate.near)}`}`)))) : null,
    DATA.ungated.map((name) => h("p", { class: "muted" }, `The gates of ${name} were not evaluated in this session.`)));
}

function endings() {
  const total = DATA.terminations.reduce((sum, [, count]) => sum + count, 0);
  const others = DATA.blames.filter((blame) => blame.label !== "agent" || blame.retried);
  if (!total && !others.length) return null;
  return h("section", { class: "card half" }, h("h2", {}, "How runs ended"),
    h("ul", { class: "bars" }, DATA.terminations.map(([label, count]) =>
      h("li", {}, h("a", { href: link({ termination: label }) }, label), h("span", { class: "bar", vars: { share: total ? count / total : 0 } }), h("span", { class: "count" }, count.toLocaleString("en"))))),
    others.length || DATA.blameless ? h("h3", {}, "Not the agent\u2019s fault") : null,
    others.length ? h("ul", { class: "blames" }, others.map((blame) =>
      h("li", {}, blame.label === "disputed" ? blame.label : h("a", { href: link({ blame: blame.label === "not run" ? "" : blame.label, termination: blame.label === "not run" ? "not run" : "" }) }, blame.label), " ", h("span", { class: "muted" }, blamed(blame)))))
      : DATA.blameless ? h("p", { class: "muted" }, DATA.blameless) : null);
}

function blamed(blame) {
  const parts = [];
  if (blame.unscored) parts.push(`${blame.unscored} not scored`);
  if (blame.retried) parts.push(`${blame.retried} played again, ${blame.recovered} then passed`);
  if (blame.passed) parts.push(`${blame.passed} passed all the same`);
  return parts.join(", ");
}

function broken() {
  if (!DATA.broken.length) return null;
  return h("section", { class: "card wide" }, h("h2", {}, "What was broken"),
    h("ul", { class: "blames" }, DATA.broken.map(([name, runs, told]) =>
      h("li", {}, h("strong", {}, name), ` ${plural(runs, "run")}`, told.map((text) => h("div", { class: "muted" }, text))))));
}

function worst() {
  const shown = ROWS.map((row, place) => [row, place]).filter(([row]) => row.verdict === "failed").slice(0, 6);
  if (!shown.length) return null;
  return h("section", { class: "card wide" }, h("h2", {}, "Worst first"),
    h("ol", { class: "worst" }, shown.map(([row, place]) =>
      h("li", {}, h("a", { href: `#runs/${place}` }, runName(row), h("span", { class: "what" }, row.noted ? `${row.line} [${row.noted}]` : row.line))))),
    h("p", {}, h("a", { href: link({ verdict: "failed" }) }, `All ${plural(DATA.all.n - DATA.all.passed, "failure")}`)));
}

function unmeasured() {
  if (!DATA.unmeasured.length) return null;
  return h("section", { class: "card wide" }, h("h2", {}, "Not measured"),
    h("p", { class: "muted small" }, "Parts that scenarios ask for and that could not be decided. They are in no rate; the other parts decide a run."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "not measured" }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, ["part", "runs", "why", "what would measure it"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, DATA.unmeasured.map(([part, runs, why, cure]) => h("tr", {}, h("th", { scope: "row" }, soft(part)), h("td", { class: "number" }, String(runs)), h("td", {}, why), h("td", {}, cure)))))));
}

function audits() {
  if (!DATA.audits.length) return null;
  return h("section", { class: "card wide" }, h("h2", {}, "Auditor"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "auditor" }, h("table", { class: "rows" },
      h("tbody", {}, DATA.audits.map(([name, told]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, told)))))),
    DATA.seen.length ? h("h3", {}, "Flags, which decide nothing") : null,
    DATA.seen.length ? h("ul", { class: "blames" }, DATA.seen.map((text) => h("li", {}, text))) : null);
}

const manyVariants = new Set(ROWS.map((row) => row.variant)).size > 1;
const runName = (row) => h("span", { class: "name" }, row.name, row.variant && manyVariants ? h("span", { class: "variant" }, row.variant) : null, row.fault ? h("span", { class: "variant" }, row.fault) : null, row.trial > 1 ? h("span", { class: "muted" }, ` trial ${row.trial}`) : null);

function group(one) {
  const kind = one.title.startsWith("tests of") ? one.title : one.title.split(" ")[0];
  const key = KEYS[kind];
  return h("section", { class: `card${kind === "complexity" ? " half" : " wide"}` }, h("h2", {}, one.variant ? `${title(one.title)}, ${one.variant}` : title(one.title)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": one.title }, h("table", { class: "rows" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, kind), h("th", { scope: "col", class: "number" }, "passed"), h("th", { scope: "col", class: "number" }, "rate"), h("th", { scope: "col" }, "95 % interval"),
        MEANS.map(([name, , told]) => h("th", { scope: "col", class: "number extra", title: told }, name)))),
      h("tbody", {}, one.rows.map((row) => h("tr", { class: row.missed ? "missed" : null },
        h("th", { scope: "row" }, key ? h("a", { href: link(one.variant ? { [key]: row.label, variant: one.variant } : { [key]: row.label }) }, soft(row.label)) : soft(row.label)),
        h("td", { class: "number" }, `${row.passed} / ${row.n}`, row.unscored ? h("span", { class: "muted", title: "not scored" }, ` +${row.unscored}`) : null,
          row.unmeasured ? h("span", { class: "muted", title: "not measured, in no rate" }, ` \u2013${row.unmeasured}`) : null),
        h("td", { class: "number strong" }, percent(row.rate)),
        h("td", { class: "plot" }, interval(row, row.gates)),
        MEANS.map(([, digits], place) => h("td", { class: "number extra" }, row.means[place] === null && !one.title.startsWith("policy") && !one.title.startsWith("complexity") && RECALLS.has(MEANS[place][0]) ? "" : figure(row.means[place], digits)))))))));
}

// of tools, tags and the like they say nothing
const RECALLS = new Set(["R_name", "R_strict"]);

const TITLES = {
  "policy (exercised)": "Policies, where they were exercised",
  "policy (listed)": "Policies that no run measured",
  variant: "Variants", suite: "Suites", tool: "Runs by tool", tag: "Tags", "tests of your own": "Tests of your own",
};
const title = (name) => TITLES[name] || `${name[0].toUpperCase()}${name.slice(1)}`;

const ofKind = (kind) => DATA.groups.filter((one) => one.title.split(" ")[0] === kind);

function overview() {
  return h("div", { class: "overview" }, hero(),
    h("div", { class: "cards" }, gates(), broken(), worst(), changes(), endings(), ofKind("complexity").map(group), unmeasured(), audits(), trials(), DATA.heat.map(heat), variants(), faults(), DATA.groups.filter((one) => !["tool", "variant", "complexity"].includes(one.title.split(" ")[0])).map(group)),
    about());
}

function about() {
  const facts = DATA.facts;
  const rows = [["command", facts.command], ["seed", facts.seed], ["model calls", facts.cassette === "off" ? "" : `cassette: ${facts.cassette}`],
    ...Object.entries(facts.players).map(([role, played]) => [role, played.join(", ")]),
    ...Object.entries(facts.versions), ["session", facts.run]];
  return h("footer", { class: "about" }, h("h2", {}, "This session"),
    h("dl", {}, rows.filter(([, value]) => value !== "" && value !== null).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))));
}
