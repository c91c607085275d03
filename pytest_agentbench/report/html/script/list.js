// The list of runs: drawn a hundred at a time as it is scrolled, walked with j and k.

const CHUNK = 100;

class RunList {
  constructor(query) {
    this.places = [];
    this.drawn = 0;
    this.query = query;
    this.current = -1;
    this.list = h("ol", { class: "list" });
    this.count = h("p", { class: "count", "aria-live": "polite" });
    this.end = h("div", { class: "end", "aria-hidden": "true" });
    this.node = h("div", { class: "listing" }, this.count, this.list, this.end);
    new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) this.more(); }, { rootMargin: "600px" }).observe(this.end);
  }

  show(places, wanted) {
    this.places = places;
    this.drawn = 0;
    this.wanted = wanted;
    this.list.replaceChildren();
    this.node.scrollTop = 0;
    const whole = `${ROWS.length.toLocaleString("en")} run${ROWS.length === 1 ? "" : "s"}`;
    this.count.textContent = (places.length === ROWS.length ? whole : `${places.length.toLocaleString("en")} of ${whole}`) + (DATA.unlisted ? ` (${DATA.unlisted.toLocaleString("en")} more are counted, not listed)` : "");
    if (!places.length) this.list.append(h("li", { class: "nothing muted" }, "No run fits. Clear a filter, or search for less."));
    this.more();
  }

  more() {
    if (this.drawn >= this.places.length) return;
    const part = document.createDocumentFragment();
    const last = Math.min(this.drawn + CHUNK, this.places.length);
    for (; this.drawn < last; this.drawn += 1) part.append(this.row(this.places[this.drawn]));
    this.list.append(part);
  }

  row(place) {
    const row = ROWS[place];
    const facts = [row.complexity === null ? "" : `c${row.complexity}`, row.verdict === "unscored" && row.blame ? row.blame : "", row.termination === "FINISHED" ? "" : row.termination, row.open ? `${plural(row.open, "part")} \u2013` : "", row.noted].filter(Boolean);
    return h("li", {}, h("a", { href: `#runs/${place}${this.query()}`, "data-place": place, class: row.verdict, "aria-current": place === this.current ? "true" : null },
      icon(row.verdict, worded(row)), runName(row), h("span", { class: "facts" }, facts.join(" \u00b7 ")),
      row.line ? h("span", { class: "what" }, row.line) : null));
  }

  mark(place) {
    this.current = place;
    for (const old of this.list.querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    const link = this.link(place);
    if (link) { link.setAttribute("aria-current", "true"); link.scrollIntoView({ block: "nearest" }); }
  }

  link(place) {
    const at = this.places.indexOf(place);
    if (at < 0) return null;
    while (this.drawn <= at) this.more();
    return this.list.querySelector(`[data-place="${place}"]`);
  }

  next(step, from) {
    const at = this.places.indexOf(from);
    const to = at < 0 ? (step > 0 ? 0 : this.places.length - 1) : at + step;
    return this.places[Math.min(Math.max(to, 0), this.places.length - 1)];
  }
}
