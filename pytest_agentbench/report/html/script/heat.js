// Tables in which a colour helps to find the weak spot; the figure stands in every cell.

function cell(value, href, label) {
  if (!value) return h("td", { class: "empty" }, h("span", { class: "muted", "aria-label": "not exercised" }, "\u00b7"));
  const [passed, n, rate, low, high] = value;
  const told = `${label}: ${passed} of ${n}${low === undefined ? "" : `, 95 % interval ${Math.round(low * 100)} to ${Math.round(high * 100)} %`}`;
  const share = rate === undefined ? passed / n : rate;
  return h("td", { class: "heat", vars: { rate: share } },
    h(href ? "a" : "span", { href, title: told, "aria-label": told }, h("b", {}, percent(share)), h("small", {}, `${passed}/${n}`)));
}

function heat(one) {
  if (one.columns.length < 2 && one.rows.length < 2) return null;
  return h("section", { class: "card wide" }, h("h2", {}, one.variant ? `Policy \u00d7 complexity, ${one.variant}` : "Policy \u00d7 complexity"),
    h("p", { class: "muted small" }, `How often a policy was kept where it was exercised, by complexity (${one.scale}). Choose a cell to see its runs.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "policy by complexity" },
      h("table", { class: "grid" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "policy"), one.columns.map((label) => h("th", { scope: "col" }, label)))),
        h("tbody", {}, one.rows.map((row) => h("tr", { class: row.all ? "total" : null },
          h("th", { scope: "row" }, row.all ? "all runs" : row.label),
          row.cells.map((value, place) => cell(value, link({ ...(one.variant ? { variant: one.variant } : {}), ...(row.all ? {} : { policy: row.label }), level: one.columns[place] }), `${row.all ? "all runs" : row.label}, complexity ${one.columns[place]}`))))))));
}

function variants() {
  const given = DATA.variants;
  if (!given) return null;
  const head = h("thead", {}, h("tr", {}, h("th", { scope: "col" }, ""), given.names.map((name) => h("th", { scope: "col" }, h("a", { href: link({ variant: name }) }, name)))));
  const line = (label, cells) => h("tr", {}, h("th", { scope: "row" }, label), cells);
  return h("section", { class: "card wide" }, h("h2", {}, "Variants side by side"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "variants" }, h("table", { class: "grid" }, head, h("tbody", {},
      line("passed", given.rows.map((row, place) => cell([row.passed, row.n, row.rate, row.low, row.high].includes(null) ? null : [row.passed, row.n, row.rate, row.low, row.high], link({ variant: given.names[place] }), given.names[place]))),
      line("95 % interval", given.rows.map((row) => h("td", { class: "muted small" }, range(row)))),
      MEANS.map(([name, digits], place) => line(name, given.rows.map((row) => h("td", {}, figure(row.means[place], digits))))),
      given.figures.map((one) => line(one.label, one.cells.map((value) => value ? h("td", {}, figure(value[0], one.digits), h("div", { class: "muted small" }, `${figure(value[1], one.digits)}\u2013${figure(value[2], one.digits)}`)) : h("td", { class: "empty" }, "\u2013")))),
      line("endings", given.endings.map((ends) => h("td", { class: "small" }, ends.map(([label, count]) => h("div", {}, `${label} ${count}`))))),
      given.policies.map((policy) => line(policy.label, policy.cells.map((value, place) => cell(value, link({ variant: given.names[place], policy: policy.label }), `${policy.label}, ${given.names[place]}`))))))),
    given.differing.rows.length ? h("details", {}, h("summary", {}, `${plural(given.differing.rows.length + given.differing.more, "scenario")} that variants end differently`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "scenarios by variant" }, h("table", { class: "grid" }, head.cloneNode(true), h("tbody", {},
        given.differing.rows.map((row) => line(h("a", { href: link({ q: row.label }) }, row.label), row.cells.map((value, place) => cell(value, link({ q: row.label, variant: given.names[place] }), `${row.label}, ${given.names[place]}`)))))))) : null);
}
