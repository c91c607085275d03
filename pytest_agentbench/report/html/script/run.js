// One run opened: the command that runs it again, what failed, expected beside actual calls, state, judges, conversation.

function runPage(place, context) {
  const row = ROWS[place], run = details(place);
  if (!run) return h("article", { class: "run" }, h("p", { class: "notice" }, "This run is still being read."));
  const failing = run.findings.filter((one) => one.failing), rest = run.findings.filter((one) => !one.failing);
  const judged = run.findings.filter((one) => one.quote || one.kind === "rubric");
  const jump = (turn) => h("button", { type: "button", class: "jump", on: { click: () => goTo(turn) } }, `turn ${turn}`);
  const section = (name, ...content) => h("section", { "aria-label": name }, h("h3", {}, name), content);
  return h("article", { class: `run ${row.verdict}` },
    h("div", { class: "bar-top" }, h("button", { type: "button", class: "plain back", on: { click: context.close } }, icon("back"), "All runs"), h("span", { class: "muted small" }, context.position)),
    h("h2", { tabindex: "-1", id: "run-title" }, icon(row.verdict, WORDS[row.verdict]), runName(row)),
    row.title ? h("p", { class: "muted" }, row.title) : null,
    h("p", { class: "badges" }, badges(row, run)),
    row.line ? h("p", { class: "headline" }, row.line) : null,
    run.not_run ? null : rerun(run),
    run.earlier.map(([attempt, verdict, blame, why]) => h("p", { class: "notice" }, `Attempt ${attempt} ${WORDS[verdict]}${blame ? ` (${blame})` : ""}: ${why}`)),
    run.also.map(([blame, why]) => h("p", { class: "notice" }, `Besides, blame ${blame}: ${why}`)),
    run.flags.map(([turn, value, quote]) =>
      h("p", { class: "notice" }, `Flag (decides nothing), turn ${turn}: ${value} is found nowhere, in "${quote}"`)),
    run.seen.map(([kind, turn, told, quote]) =>
      h("p", { class: "notice" }, `Flag of the auditor (decides nothing), ${kind}${turn ? `, turn ${turn}` : ""}: ${told}${quote ? `, "${quote}"` : ""}`)),
    run.disputed ? h("p", { class: "notice warn" }, `Disputed: ${run.disputed}. The run is scored.`) : null,
    run.unmeasured.length ? section("Not measured", h("ul", { class: "findings" }, run.unmeasured.map(([part, why, cure]) => h("li", { class: "unscored" }, icon("unscored", "not measured"), h("div", {}, h("b", {}, part), h("p", {}, coded(cure ? `${why}; ${cure}` : why))))))) : null,
    failing.length > 1 || (failing.length && !row.line) ? section("What failed", h("ul", { class: "findings" }, failing.filter((one) => one.kind !== "state" || !isDifference(one)).map((one) => finding(one, jump)))) : null,
    expected(run, jump), state(failing), judged.length ? section("What judges quote", judged.map((one) => evidence(one, jump))) : null,
    h("section", { "aria-label": "Conversation" }, h("h3", { class: "spread" }, "Conversation", run.messages ? run.divergences.map((one) => h("button", { type: "button", class: "jump to-divergence", on: { click: () => goTo(one.turn) } }, `${one.against === "baseline" ? "unlike the baseline" : "divergent"} from turn ${one.turn}${one.agent ? ` (${one.agent})` : ""}`)) : null), conversation(run, row.line)),
    rest.length ? h("details", { class: "more" }, h("summary", {}, `${plural(rest.length, "other check")}`), h("ul", { class: "findings" }, rest.map((one) => finding(one, jump)))) : null,
    facts(row, run));
}

function coded(text) { // what stands between backticks is code
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, place) => (place % 2 ? h("code", {}, part) : part)) : text;
}

function goTo(turn) {
  const node = document.getElementById(`turn-${turn}`);
  if (!node) return;
  node.scrollIntoView({ block: "start" });
  node.focus({ preventScroll: true });
}

function badges(row, run) {
  return [
    h("span", { class: `badge ${row.verdict}` }, worded(row)),
    row.noted ? h("span", { class: "badge warn" }, row.noted) : null,
    row.blame && row.verdict !== "passed" ? h("span", { class: "badge" }, `blame: ${row.blame}`) : null,
    h("span", { class: `badge${row.termination === "FINISHED" ? "" : " warn"}` }, row.termination),
    row.complexity === null ? null : h("span", { class: "badge", title: `scale: ${run.scale}` }, `complexity ${row.complexity}`),
    row.broken.map((policy) => h("a", { class: "badge failed", href: link({ broken: policy }) }, policy)),
    row.tags.map((tag) => h("a", { class: "badge", href: link({ tag }) }, tag)),
  ];
}

function rerun(run) {
  const button = h("button", { type: "button", class: "copy", id: "copy", on: { click: () => copy(run.rerun, button) } }, icon("copy"), h("span", {}, "Copy"));
  return h("div", { class: "rerun" }, h("code", { tabindex: "0", "aria-label": "command that runs this again" }, run.rerun), button);
}

async function copy(text, button) {
  let done = false;
  try { await navigator.clipboard.writeText(text); done = true; } catch {
    const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = button.querySelector("span");
  label.textContent = done ? "Copied" : "Press Ctrl+C";
  setTimeout(() => { label.textContent = "Copy"; }, 1500);
}

function finding(one, jump) {
  const verdict = one.passed === null ? "unscored" : one.passed ? "passed" : "failed";
  return h("li", { class: verdict }, icon(verdict, one.passed === null ? "not measured" : WORDS[verdict]),
    h("div", {}, h("b", {}, checkName(one)), one.required ? null : h("span", { class: "muted small" }, " never fails a run"), " ", one.turn ? jump(one.turn) : null, h("p", {}, one.message)));
}

function evidence(one, jump) {
  return h("figure", { class: `evidence ${one.passed === false ? "failed" : "passed"}` },
    h("figcaption", {}, icon(one.passed === null ? "unscored" : one.passed ? "passed" : "failed"), h("span", {}, h("b", {}, checkName(one)), ` ${one.message}`)),
    one.quote ? h("blockquote", { dir: "auto" }, one.quote) : null, one.turn ? jump(one.turn) : null);
}

function expected(run, jump) {
  const wanted = run.calls.filter((call) => call.expected), others = run.calls.filter((call) => !call.expected);
  if (!run.calls.length) return null;
  const bad = others.filter((call) => STATUS[call.status][0] === "bad"), plain = others.filter((call) => STATUS[call.status][0] !== "bad");
  const line = (call) => {
    const [tone, label] = STATUS[call.status];
    const instead = call.status === "substituted" ? (call.note.split(": ").pop() || call.tool) : call.tool;
    return h("tr", { class: tone },
      h("td", { "data-side": "expected" }, call.expected ? callNode(call.tool, call.expected, null) : h("span", { class: "muted" }, "nothing")),
      h("td", { "data-side": "called" }, call.actual ? callNode(instead, call.actual, call.differing) : h("span", { class: "muted" }, "\u2013")),
      h("td", {}, h("span", { class: `status ${tone}` }, label), " ", call.turn ? jump(call.turn) : null, call.open ? h("p", { class: "muted small" }, `left open: ${Object.keys(call.open).join(", ")}`) : null, call.note && call.status !== "substituted" ? h("p", { class: "muted small" }, call.note) : null));
  };
  const table = (calls) => h("table", { class: "calls" }, h("thead", {}, h("tr", {}, ["expected", "called", ""].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, calls.map(line)));
  return h("section", { "aria-label": "Calls" }, h("h3", {}, "Expected and actual calls"),
    wanted.length || bad.length ? table([...wanted, ...bad]) : h("p", { class: "muted" }, "No call was expected."),
    plain.length ? h("details", { class: "more" }, h("summary", {}, `${plural(plain.length, "call")} beside the expected ones, which ${plain.length === 1 ? "does" : "do"} no harm`), table(plain)) : null);
}

const isDifference = (one) => one.kind === "state" && (one.expected !== null || one.actual !== null);

function state(failing) {
  const differing = failing.filter(isDifference);
  if (!differing.length) return null;
  return h("section", { "aria-label": "State" }, h("h3", {}, "State at the end"), h("table", { class: "state" },
    h("thead", {}, h("tr", {}, ["", "expected", "is"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, differing.map((one) => h("tr", {}, h("th", { scope: "row" }, one.message.split(/: expected |: /)[0]),
      h("td", { class: "was" }, one.expected === null ? "no such entry" : one.expected), h("td", { class: "is" }, one.actual === null ? "missing" : one.actual))))));
}

function facts(row, run) {
  const shown = run.metrics.filter(([, value]) => value !== null).map(([name, value]) => [name.replace(/_/g, " "), Number.isInteger(value) ? value : value.toFixed(2)]);
  const rows = [["scenario", run.file], ["transcript", run.transcript], ["suite", row.suite], ["seconds", run.seconds === null ? "" : run.seconds.toFixed(2)],
    ...run.players, ...run.usage.map(([role, calls, replayed]) => [`${role}: model calls`, `${calls}${replayed ? ` (+${replayed} replayed)` : ""}`]), ...shown];
  return h("details", { class: "more facts" }, h("summary", {}, "Facts and figures"), h("dl", {}, rows.filter(([, value]) => value !== "").map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))));
}
