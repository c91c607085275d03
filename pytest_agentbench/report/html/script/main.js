// The address says what is shown: #overview, #policies, #tools, #runs?filters and #runs/number?filters.

const wide = window.matchMedia("(min-width: 60rem)");
const VIEWS = [["overview", "Overview"], ["runs", "Runs"], ...(DATA.policies.length ? [["policies", "Policies"]] : []), ["tools", "Tools"]];

class App {
  constructor() {
    this.view = "";
    this.place = null;
    this.wanted = {};
    this.main = document.getElementById("main");
    this.help = helpDialog();
    document.body.append(this.help);
    this.list = new RunList(() => this.query());
    this.bar = h("div", { class: "bar-holder" });
    this.pane = h("div", { class: "pane" });
    this.runs = h("div", { class: "runs" }, h("div", { class: "side" }, this.bar, this.list.node), this.pane);
    this.header();
    listen(this);
    window.addEventListener("hashchange", () => this.route());
    document.addEventListener("DOMContentLoaded", () => { if (this.place !== null && !this.pane.querySelector(".conversation")) this.open(this.place); prepareSearch(); });
    document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); this.main.focus(); });
    this.route();
  }

  header() {
    const variant = ROWS.length && !manyVariants ? ROWS[0].variant : "";
    const facts = DATA.facts, told = [plural(facts.scenarios || facts.runs, "scenario"), facts.scenarios !== facts.runs ? plural(facts.runs, "run") : "", variant && `variant ${variant}`, facts.seconds === null ? "" : `${facts.seconds.toFixed(1)} s`, facts.created.slice(0, 16).replace("T", " ")];
    this.tabs = VIEWS.map(([name, label]) => h("a", { href: `#${name}`, id: `tab-${name}` }, label, name === "runs" ? h("span", { class: "pill" }, ROWS.length.toLocaleString("en")) : null));
    document.getElementById("top").append(
      h("div", { class: "title" }, h("h1", {}, facts.names.slice(0, 3).join(", ") || "agentbench"), h("p", { class: "muted small" }, told.filter(Boolean).join(" \u00b7 "))),
      h("nav", { "aria-label": "Views" }, this.tabs),
      h("button", { type: "button", class: "plain keys", "aria-label": "keys", on: { click: () => this.help.showModal() } }, h("kbd", {}, "?")));
  }

  query() {
    const text = new URLSearchParams(Object.entries(this.wanted).filter(([, value]) => value)).toString();
    return text ? `?${text}` : "";
  }

  route() {
    const [path, query] = location.hash.slice(1).split("?");
    const [name, place] = path.split("/");
    const view = VIEWS.some(([known]) => known === name) ? name : "overview";
    this.tabs.forEach((tab, at) => (VIEWS[at][0] === view ? tab.setAttribute("aria-current", "page") : tab.removeAttribute("aria-current")));
    const changed = view !== this.view;
    this.view = view;
    document.body.dataset.view = view;
    if (view !== "runs") {
      this.place = null;
      this.main.replaceChildren({ tools, policies, overview }[view]());
      if (changed) window.scrollTo(0, 0);
      return;
    }
    const wanted = Object.fromEntries([...new URLSearchParams(query || "")].filter(([key, value]) => value && (key === "q" || Object.hasOwn(FIELDS, key))));
    const same = JSON.stringify(wanted) === JSON.stringify(this.wanted);
    if (changed) this.main.replaceChildren(this.runs);
    if (changed || !same) { this.wanted = wanted; this.drawBar(); this.apply(); }
    const number = place === undefined ? NaN : Number(place);
    if (Number.isInteger(number) && number >= 0 && number < ROWS.length) this.open(number);
    else if (wide.matches && this.list.places.length) this.open(this.list.places[0]);
    else this.shut();
  }

  drawBar() { this.bar.replaceChildren(filterBar(this.wanted, (change) => this.choose(change))); }

  choose(change) {
    this.wanted = change === null ? {} : Object.fromEntries(Object.entries({ ...this.wanted, ...change }).filter(([, value]) => value));
    const open = this.place !== null && !wide.matches ? `/${this.place}` : "";
    history.replaceState(null, "", `#runs${open}${this.query()}`);
    if (change === null || !("q" in change)) { this.drawBar(); const first = this.bar.querySelector("select.set, input"); if (first) first.focus(); }
    this.apply();
    if (!wide.matches) return;
    if (!this.list.places.includes(this.place) && this.list.places.length) this.open(this.list.places[0]);
    else if (!this.list.places.length) this.shut();
  }

  apply() {
    const places = [];
    for (let place = 0; place < ROWS.length; place += 1) if (matches(place, this.wanted)) places.push(place);
    this.list.show(places, this.wanted);
    if (this.place !== null) this.list.mark(this.place);
  }

  open(place) {
    this.place = place;
    this.runs.classList.add("open");
    const at = this.list.places.indexOf(place);
    const position = at < 0 ? "" : `${(at + 1).toLocaleString("en")} of ${this.list.places.length.toLocaleString("en")}`;
    this.pane.replaceChildren(runPage(place, { close: () => this.close(), position }));
    this.pane.scrollTop = 0;
    if (!wide.matches) { window.scrollTo(0, 0); document.getElementById("run-title").focus({ preventScroll: true }); }
    this.list.mark(place);
  }

  shut() {
    this.place = null;
    this.runs.classList.remove("open");
    this.pane.replaceChildren(h("p", { class: "notice" }, "Choose a run to see its conversation."));
  }

  close() {
    const place = this.place;
    history.replaceState(null, "", `#runs${this.query()}`);
    if (!wide.matches) this.shut();
    const row = place === null ? null : this.list.link(place);
    if (row) { row.focus(); row.scrollIntoView({ block: "nearest" }); }
  }

  step(by) {
    if (this.view !== "runs") { location.hash = "#runs"; return; }
    if (!this.list.places.length) return;
    const focused = document.activeElement && document.activeElement.closest(".list a");
    const from = focused ? Number(focused.dataset.place) : this.place === null ? -1 : this.place;
    const place = by === 0 ? this.list.places[0] : this.list.next(by, from);
    const row = this.list.link(place);
    if (wide.matches || this.place !== null) { history.replaceState(null, "", `#runs/${place}${this.query()}`); this.open(place); }
    if (wide.matches || this.place === null) row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  search() {
    if (this.view !== "runs") { location.hash = "#runs"; this.route(); }
    if (!wide.matches && this.place !== null) this.close();
    const box = document.getElementById("search");
    box.focus();
    box.select();
  }

  divergent() { const mark = this.pane.querySelector(".to-divergence"); if (mark) mark.click(); }

  escape(event) {
    const box = document.getElementById("search");
    if (event.target === box && box.value) { event.preventDefault(); box.value = ""; this.choose({ q: "" }); }
    else if (event.target === box) box.blur();
    else if (this.view === "runs" && this.place !== null) { event.preventDefault(); this.close(); }
  }
}

new App();
