/* What does not change: facts, audit, history, settings. */
function heading(id, text) { return element("h2", { id: id + "-title" }, text); }

function drawHead() {
  const kind = report.task === "classification" ? "classifies" : "predicts values";
  byId("head").append(
    element("h1", {}, report.title),
    element("p", { class: "lead" }, "A " + report.estimator + " that " + kind + " in domains without labels, and the map of the domains that it inferred."),
    element("dl", { class: "facts" }, ...Object.entries(report.facts).map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value === null ? "none" : typeof value === "string" ? spaced(value) : number(value))))));
}

function drawAudit() {
  const section = byId("audit");
  section.append(heading("audit", "Is it a domain index?"));
  if (report.audit === null) {
    section.append(element("p", {}, "The audit could not be made on this data."));
    return;
  }
  section.append(
    element("p", {}, report.audit.summary),
    element("div", { class: "conditions" }, ...report.audit.conditions.map((one) => element("div", { class: "condition" },
      element("span", { class: "verdict " + (one.holds ? "yes" : "no") }, one.holds ? "✓ holds" : "✗ does not hold"),
      element("h3", {}, one.statement), ...one.sentences.map((text) => element("p", {}, text))))),
    element("p", { class: "small" }, "x are the inputs, y the labels, z the encoding that predictions are made from. The audit read rows that the model was fitted on."));
}

/* A line a term, each on its own scale; a grey line where another phase of training begins. */
function termPicture(all) {
  const [begin, end] = [all.findIndex((value) => value !== null), all.findLastIndex((value) => value !== null)];
  const values = all.slice(begin, end + 1);
  const phases = report.history.phases.slice(begin, end + 1);
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const height = (value) => (high > low ? 53 - (50 * (value - low)) / (high - low) : 28);
  const across = (place) => (300 * place) / Math.max(1, values.length - 1);
  let line = "";
  let open = false;
  values.forEach((value, place) => {
    if (value === null) { open = false; return; }
    line += (open ? "L" : "M") + across(place).toFixed(1) + " " + height(value).toFixed(1);
    open = true;
  });
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 300 56");
  picture.setAttribute("preserveAspectRatio", "none");
  picture.setAttribute("aria-hidden", "true");
  const starts = phases.map((phase, place) => [phase, place]).filter(([phase, place]) => place > 0 && phase !== phases[place - 1]);
  for (const [kind, path] of [...starts.map(([, place]) => ["phase", "M" + across(place - 0.5).toFixed(1) + " 0V56"]), ["", line]]) {
    const drawn = document.createElementNS("http://www.w3.org/2000/svg", "path");
    drawn.setAttribute("d", path);
    drawn.setAttribute("class", kind);
    picture.append(drawn);
  }
  return picture;
}

function drawHistory() {
  const section = byId("history");
  const terms = Object.entries(report.history.terms).filter(([, values]) => values.some((value) => value !== null && value !== 0));
  section.append(heading("history", "Training"));
  if (!terms.length) {
    section.append(element("p", {}, "No history was recorded."));
    return;
  }
  const phases = [...new Set(report.history.phases)];
  section.append(
    element("p", {}, "Every term of the objective that was in use, by epoch, each on its own scale and over its own phase. Phases, in order: " + phases.map(spaced).join(", ") + "."),
    element("div", { class: "terms" }, ...terms.map(([name, values]) => {
      const known = values.filter((value) => value !== null);
      const way = number(known[0]) + " → " + number(known[known.length - 1]);
      return element("figure", { class: "term" }, element("figcaption", {}, element("span", {}, spaced(name)), element("span", { class: "way" }, way)), termPicture(values));
    })));
}

function drawSettings() {
  const table = (label, entries) => element("div", {}, element("h3", {}, label), element("div", { class: "box" }, element("table", {}, element("tbody", {},
    ...Object.entries(entries).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, String(value))))))));
  byId("settings").append(heading("settings", "Configuration and versions"),
    ...report.notes.map((text) => element("p", { class: "small" }, text)),
    element("div", { class: "pair" }, table("Configuration", report.configuration), table("Versions", report.versions)));
}
