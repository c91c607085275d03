// A run as a conversation: who said what, each call with its answer, and where it went another way.

const SPEAKERS = { user: "user", assistant: "agent", tool: "tool", system: "system" };

// Calls as the checks explained them, each to be found once by turn, tool and arguments.
function explanations(run) {
  const left = run.calls.filter((call) => call.actual);
  return (call, turn) => {
    const made = JSON.stringify(call.arguments || {});
    const fits = (one) => one.turn === turn && JSON.stringify(one.actual) === made && (one.tool === call.name || one.status === "substituted");
    const at = left.findIndex(fits);
    return at < 0 ? null : left.splice(at, 1)[0];
  };
}

const STATUS = {
  matched: ["good", "as expected"], wrong_arguments: ["bad", "wrong arguments"], substituted: ["bad", "instead of another tool"], tool_failed: ["bad", "expected, but failed"],
  not_attempted: ["bad", "never called"], extra_read: ["", "not asked for"], extra_write: ["bad", "write outside the goal"], repeated: ["", "repeated"], unknown_tool: ["bad", "no such tool"],
};

function callNode(name, values, differing) {
  const given = Object.entries(values || {}), differs = (key) => Boolean(differing) && Object.hasOwn(differing, key);
  const missing = Object.keys(differing || {}).filter((key) => !given.some(([other]) => other === key)).map((key) => [key, "left out"]);
  return h("code", { class: "call" }, h("b", {}, name), "(", h("wbr"), [...given, ...missing].map(([key, value], place, all) => [
    h("span", { class: differs(key) ? "argument differs" : "argument", title: differs(key) ? `expected ${differing[key][0]}` : null }, h("i", {}, `${key}=`), value),
    place < all.length - 1 ? [", ", h("wbr")] : ""]), ")");
}

function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

function cutNote(message, run) {
  return message.cut ? h("p", { class: "muted small" }, `Cut here; all ${message.cut.toLocaleString("en")} characters are in ${run.transcript}.`) : null;
}

function answer(message, run) {
  const text = message.text, whole = pretty(text);
  const note = cutNote(message, run);
  const label = message.error ? "error" : message.wrote ? "wrote" : "answer";
  const told = message.rejected ? "rejected" : label;
  if (whole.length < 90 && !whole.includes("\n") && !note) return h("div", { class: `result ${label}` }, h("span", { class: "tag" }, told), h("code", {}, text || "(nothing)"));
  return h("details", { class: `result ${label}`, open: message.error }, h("summary", {}, h("span", { class: "tag" }, told), h("code", {}, text.replace(/\s+/g, " ").slice(0, 160))), h("pre", {}, whole), note);
}

const checkName = (one) => one.check.replace(/^(policy|rubric):/, "");

function conversation(run, headline) {
  if (!run.messages) {
    const why = run.not_run ? "This run never started." : run.dropped ? "Left out to keep this page small." : "The transcript was not there when this page was written.";
    return h("p", { class: "notice" }, why, run.transcript ? h("code", { class: "path" }, ` ${run.transcript}`) : null);
  }
  const find = explanations(run), objections = run.findings.filter((one) => one.failing && one.tool && one.turn);
  const objection = (call, turn) => objections.find((one) => one.turn === turn && one.tool === call.name && one.kind === "policy");
  const first = new Map(run.divergences.map((one) => [one.turn, []]));
  for (const one of run.divergences) first.get(one.turn).push(one);
  const list = h("ol", { class: "conversation" });
  let turn = null, body = null, agent = null, named = null, session = 1;
  for (const message of run.messages) {
    if ((message.session || 1) !== session) list.append(h("li", { class: "notice" }, `session ${session = message.session}`));
    if (message.turn !== turn) {
      turn = message.turn;
      const speaker = message.role === "user" || message.by === "user" ? "user" : message.role === "assistant" || message.role === "tool" ? "agent" : message.role;
      const marks = first.get(turn) || [];
      body = h("div", { class: "said" });
      list.append(h("li", { class: `turn ${speaker}${marks.length ? " divergent" : ""}`, id: `turn-${turn}`, tabindex: "-1" },
        h("div", { class: "who" }, h("span", { class: "number", title: `turn ${turn}` }, turn), speaker),
        h("div", {}, marks.map((one) => h("p", { class: "divergence" }, icon("turn"), h("span", {}, h("b", {}, one.against === "baseline" ? "First turn unlike the baseline" : one.against === "checks" ? "First turn that a check objects to" : "First divergent turn", one.agent ? ` (${one.agent})` : ""), h("span", {}, one.against === "checks" && headline.endsWith(one.reason.split(": ").slice(1).join(": ")) ? one.reason.split(": ")[0] : one.reason)))), body)));
    }
    if (message.role === "tool") { body.append(answer(message, run)); continue; }
    for (const event of message.events || []) body.append(h("p", { class: "muted small event" }, event));
    if (message.agent && (message.agent !== agent || message.turn !== named)) body.append(h("p", { class: "muted small" }, `${message.agent}:`));
    if (message.agent) [agent, named] = [message.agent, message.turn];
    if (message.text.trim() || !message.calls) body.append(h("div", { class: `text${message.error ? " error" : ""}`, dir: "auto" }, message.text || "(nothing)", cutNote(message, run)));
    for (const call of message.calls || []) {
      const known = find(call, message.turn);
      const broken = objection(call, message.turn);
      const [tone, label] = broken ? ["bad", `against ${checkName(broken)}`] : known ? STATUS[known.status] : ["", ""];
      body.append(h("div", { class: `made ${tone}` }, call.raw === undefined ? callNode(call.name, call.arguments, known && known.differing) : h("code", { class: "call" }, h("b", {}, call.name), `(${call.raw})`), label ? h("span", { class: "status" }, label) : null));
    }
    if (message.output) body.append(h("p", { class: "muted small" }, "typed answer ", h("code", {}, message.output.output)));
    for (const one of message.waits || []) body.append(h("div", { class: "made" }, callNode(one.name, one.arguments), h("span", { class: "status" }, one.status)));
  }
  if (run.more) list.append(h("li", { class: "notice" }, `${plural(run.more, "message")} more in `, h("code", { class: "path" }, run.transcript)));
  const ended = run.error || run.stop;
  list.append(h("li", { class: "ended muted" }, ended ? `ended: ${ended}` : "ended"));
  return list;
}
