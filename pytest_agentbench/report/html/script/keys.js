// The keyboard: everything that a pointer can do.

const HELP = [
  ["/", "search"], ["j  k", "next, previous run"], ["Enter", "open the run"], ["Esc", "close, or clear the search"],
  ["d", "first divergent turn"], ["c", "copy the command that runs it again"], ["1  2  3  4", "overview, runs, tools, policies"], ["?", "this list"],
];

function helpDialog() {
  const close = h("button", { type: "button", class: "plain", on: { click: () => dialog.close() } }, "Close");
  const dialog = h("dialog", { class: "help", "aria-label": "Keys" }, h("h2", {}, "Keys"), h("dl", {}, HELP.map(([key, told]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, told)))), close);
  return dialog;
}

function listen(app) {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey || app.help.open) return;
    if (event.key === "Escape") return app.escape(event);
    if (typing && event.target.id === "search" && (event.key === "ArrowDown" || event.key === "Enter")) { event.preventDefault(); return app.step(0); }
    if (typing) return;
    const act = {
      "/": () => app.search(), j: () => app.step(1), k: () => app.step(-1), d: () => app.divergent(), "?": () => app.help.showModal(),
      c: () => { const button = document.getElementById("copy"); if (button) button.click(); },
      1: () => { location.hash = "#overview"; }, 2: () => { location.hash = "#runs"; }, 3: () => { location.hash = "#tools"; }, 4: () => { location.hash = "#policies"; },
    }[event.key];
    const inList = event.target.closest(".list");
    if (act) { event.preventDefault(); act(); }
    else if (inList && (event.key === "ArrowDown" || event.key === "ArrowUp")) { event.preventDefault(); app.step(event.key === "ArrowDown" ? 1 : -1); }
  });
}
