// Tools: how often each was called, expected and failed, and which call followed which.

const WIDTH = 156, MARK = 62, HEIGHT = 34, GAP_X = 66, GAP_Y = 26, EDGE = 12;

function tools() {
  const given = DATA.tools;
  if (!given.tools.length) return h("p", { class: "notice" }, "No run called a tool, or calls could not be seen.");
  const never = given.tools.filter((tool) => !tool.calls).length;
  const most = Math.max(...given.tools.map((tool) => tool.calls), 1);
  return h("div", { class: "overview" },
    h("section", { class: "card wide" }, h("h2", {}, "Coverage"),
      h("p", { class: "muted" }, `${plural(given.tools.length - never, "tool")} called in ${plural(given.runs, "run")}${never ? `, ${never} expected and never called` : ""}.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "calls per tool" }, h("table", { class: "rows" },
        h("thead", {}, h("tr", {}, ["tool", "calls", "", "runs", "failed", "expected", "as expected"].map((name, place) => h("th", { scope: "col", class: place > 0 && place !== 2 ? `number${place > 2 && place < 6 ? " extra" : ""}` : null }, name)))),
        h("tbody", {}, given.tools.map((tool) => h("tr", { class: tool.calls ? null : "missed" },
          h("th", { scope: "row" }, h("a", { href: link({ tool: tool.name }) }, soft(tool.name))),
          h("td", { class: "number strong" }, tool.calls.toLocaleString("en")),
          h("td", { class: "plot" }, h("span", { class: "bar", vars: { share: tool.calls / most } })),
          h("td", { class: "number extra" }, tool.runs), h("td", { class: "number extra" }, tool.failed || "\u2013"),
          h("td", { class: "number extra" }, tool.expected || "\u2013"), h("td", { class: "number" }, tool.expected ? `${tool.made} (${percent(tool.made / tool.expected)})` : "\u2013"))))))),
    DATA.coverage.map(planned), graph(given.graph));
}

function planned(one) {
  const share = ([seen, all], noun) => h("div", {}, h("dt", {}, noun), h("dd", {}, `${seen} of ${all}`), h("span", { class: "bar", vars: { share: all ? seen / all : 0 } }));
  const missing = one.missing.length + one.missing_steps.length + one.more;
  return h("section", { class: "card wide" }, h("h2", {}, "Against the generated tool graph"), h("p", { class: "muted small" }, h("code", {}, one.path)),
    h("dl", { class: "means planned" }, share(one.tools, "tools called"), share(one.steps, "transitions seen")),
    missing ? h("details", {}, h("summary", {}, `${missing} never seen`), h("ul", { class: "flips" },
      one.missing.map((name) => h("li", {}, name)), one.missing_steps.map(([from, to]) => h("li", {}, `${from} \u2192 ${to}`)), one.more ? h("li", { class: "muted" }, `and ${one.more} more`) : null)) : null);
}

function graph(given) {
  if (given.edges.length < 2) return null;
  const rows = given.nodes.map((node) => node.y), low = Math.min(...rows), high = Math.max(...rows);
  const size = (node) => (node.mark ? MARK : WIDTH), left = (node) => (node.x ? EDGE + MARK + GAP_X + (node.x - 1) * (WIDTH + GAP_X) : EDGE), middle = (node) => EDGE + 24 + HEIGHT / 2 + (node.y - low) * (HEIGHT + GAP_Y);
  const width = EDGE + Math.max(...given.nodes.map((node) => left(node) + size(node)));
  const height = 2 * EDGE + 48 + HEIGHT + (high - low) * (HEIGHT + GAP_Y);
  const most = Math.max(...given.edges.map(([, , count]) => count));
  const picture = s("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, vars: { natural: `${width}px` }, role: "group", "aria-label": "which call followed which" });
  const path = (one, other) => {
    const from = given.nodes[one], to = given.nodes[other];
    if (one === other) { const x = left(from) + size(from) / 2, y = middle(from) - HEIGHT / 2; return `M${x - 20} ${y}c-4 -26 44 -26 40 0`; }
    if (from.x === to.x) { const x = left(from), up = to.y < from.y; return `M${x} ${middle(from)}C${x - 40} ${middle(from) + (up ? -10 : 10)} ${x - 40} ${middle(to) + (up ? 10 : -10)} ${x} ${middle(to)}`; }
    const back = to.x < from.x, x1 = left(from) + (back ? 0 : size(from)), x2 = left(to) + (back ? size(to) : 0), bend = back ? -50 : Math.max(GAP_X * 0.55, Math.abs(x2 - x1) * 0.35);
    return `M${x1} ${middle(from)}C${x1 + bend} ${middle(from)} ${x2 - bend} ${middle(to)} ${x2} ${middle(to)}`;
  };
  for (const [one, other, count] of [...given.edges].reverse()) {
    const told = `${given.nodes[one].name} \u2192 ${given.nodes[other].name}: ${plural(count, "time")}`;
    picture.append(s("path", { class: `edge${given.nodes[other].x < given.nodes[one].x ? " back" : ""}`, d: path(one, other), "data-from": one, "data-to": other, "stroke-width": (1 + 7 * count / most).toFixed(2), "stroke-opacity": (0.25 + 0.6 * count / most).toFixed(2) }, s("title", {}, told)));
  }
  const said = h("p", { class: "muted small said", "aria-live": "polite" }, "Choose a tool to see what came before and after it.");
  given.nodes.forEach((node, place) => {
    const name = node.name.length > 21 ? `${node.name.slice(0, 20)}\u2026` : node.name;
    const show = () => {
      const before = given.edges.filter(([, to]) => to === place), after = given.edges.filter(([from]) => from === place);
      const list = (edges, side) => edges.slice(0, 4).map((edge) => `${given.nodes[edge[side]].name} ${edge[2]}`).join(", ") || "nothing";
      said.textContent = `${node.name}: after ${list(before, 0)}; then ${list(after, 1)}.`;
      picture.classList.add("chosen");
      for (const edge of picture.querySelectorAll(".edge")) edge.classList.toggle("on", edge.dataset.from === String(place) || edge.dataset.to === String(place));
    };
    const hide = () => picture.classList.remove("chosen");
    picture.append(s("g", { class: `node${node.mark ? " mark" : ""}`, transform: `translate(${left(node)} ${middle(node) - HEIGHT / 2})`, tabindex: "0", role: "img", "aria-label": `${node.name}, ${plural(node.calls, node.mark ? "run" : "call")}`, on: { focus: show, mouseenter: show, blur: hide, mouseleave: hide } },
      s("title", {}, `${node.name}: ${plural(node.calls, node.mark ? "run" : "call")}`),
      s("rect", { width: size(node), height: HEIGHT, rx: node.mark ? HEIGHT / 2 : 7 }),
      s("text", { x: node.mark ? MARK / 2 : 10, y: 21, "text-anchor": node.mark ? "middle" : "start" }, name)));
  });
  return h("section", { class: "card wide" }, h("h2", {}, "Which call followed which"), said,
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tool graph" }, picture),
    given.left_out ? h("p", { class: "muted small" }, `${given.left_out} rare tools and transitions are left out of the picture.`) : null);
}
