/* What does not change: facts, audit, history, settings. */
function heading(id, text) { return element("h2", { id: id + "-title" }, text); }

function drawHead() {
  const sources = domains.filter((domain) => domain.role === "source").length;
  const [rows, targets] = [domains.reduce((sum, domain) => sum + domain.rows, 0), domains.length - sources];
  const count = (many, one, more) => number(many) + " " + (many === 1 ? one : more);
  const learned = count(rows, "row", "rows") + " in " + count(domains.length, "domain", "domains") + ": learned from " + number(sources) + " with labels, to predict in "
    + (targets ? number(targets) + " without." : "others that turn up later.");
  const drawn = count(rows, "row", "rows") + " in " + count(domains.length, "domain", "domains") + ": a map of them, drawn from inputs alone.";
  byId("head").append(element("h1", {}, report.title), element("p", { class: "lead" }, HAS_SOURCES ? learned : drawn));
}

function factList() {
  return element("dl", { class: "facts" }, ...[["estimator", report.estimator], ...Object.entries(report.facts)].map(([name, value]) =>
    element("div", { class: typeof value === "string" && value.length > 6 ? "text" : null }, element("dt", {}, name), element("dd", {}, value === null ? "none" : typeof value === "string" ? spaced(value) : number(value)))));
}

/* Domains and columns with gaps that a table of them has room for. */
const [MOST_GAPPY, MOST_LACKING] = [30, 8];

function gapsTable() {
  const largest = new Map();
  domains.forEach((domain) => domain.missing.forEach((one) => largest.set(one.column, Math.max(one.share, largest.get(one.column) || 0))));
  if (!largest.size) return [];
  const columns = [...largest.keys()].sort((a, b) => largest.get(b) - largest.get(a)).slice(0, MOST_LACKING);
  const most = (domain) => Math.max(0, ...domain.missing.map((one) => one.share));
  const gappy = domains.filter((domain) => domain.missing.length).sort((a, b) => most(b) - most(a));
  const cell = (domain, column) => {
    const found = domain.missing.find((one) => one.column === column);
    return element("td", { class: "number", style: found ? "background: color-mix(in srgb, var(--own) " + Math.round(60 * found.share) + "%, transparent)" : null }, found ? percent(found.share, 1) : "–");
  };
  const few = gappy.slice(0, MOST_GAPPY);
  const left = [few.length < gappy.length ? "the " + few.length + " domains with most of " + gappy.length.toLocaleString("en") : "", columns.length < largest.size ? "the " + columns.length + " columns with most of " + largest.size : ""].filter(Boolean);
  return [element("h3", { class: "table-title" }, "Missing values, by domain and column"),
    element("div", { class: "box", tabindex: "0", role: "region", "aria-label": "Missing values, by domain and column" }, element("table", { id: "gaps" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "domain"), ...columns.map((column) => element("th", { scope: "col", class: "number" }, report.profiles[column].name)))),
      element("tbody", {}, ...few.map((domain) => element("tr", {}, element("th", { scope: "row" }, domain.name), ...columns.map((column) => cell(domain, column))))))),
    element("p", { class: "small" }, "Share of a domain's rows without a value; – is none, or hardly any." + (left.length ? " Shown are " + left.join(", and ") + "." : ""))];
}

function drawPrepared() {
  const section = byId("prepared");
  const done = report.preparation.map((text) => element("li", {}, text));
  const gaps = gapsTable();
  if (!done.length && !gaps.length) return;
  section.hidden = false;
  section.append(heading("prepared", "What was done to my table?"),
    ...(done.length ? [element("ul", { class: "reasons" }, ...done)] : []),
    ...(gaps.length ? [foldedPart("Missing values, by domain and column", ...gaps.slice(1))] : []));
}

function drawAudit() {
  const section = byId("audit");
  section.append(heading("audit", "Is it a domain index?"));
  if (report.audit === null) {
    section.append(element("p", {}, report.no_audit || "The audit could not be made on this data."));
    return;
  }
  section.append(foldedPart("The three conditions of a domain index, and what was found",
    element("p", {}, report.audit.summary),
    element("div", { class: "conditions" }, ...report.audit.conditions.map((one) => element("div", { class: "condition" },
      element("span", { class: "verdict " + (one.holds ? "yes" : "no") }, one.holds ? "✓ holds" : "✗ does not hold"),
      element("h3", {}, one.statement), ...one.sentences.map((text) => element("p", {}, text))))),
    element("p", { class: "small" }, "x are the inputs, y the labels, z the encoding that predictions are made from. The audit read rows that the model was fitted on.")));
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
  section.append(foldedPart("Every term of the objective, by epoch",
    element("p", {}, "Every term of the objective that was in use, by epoch, each on its own scale and over its own phase. Phases, in order: " + phases.map(spaced).join(", ") + "."),
    element("div", { class: "terms" }, ...terms.map(([name, values]) => {
      const known = values.filter((value) => value !== null);
      const way = number(known[0]) + " → " + number(known[known.length - 1]);
      return element("figure", { class: "term" }, element("figcaption", {}, element("span", {}, spaced(name)), element("span", { class: "way" }, way)), termPicture(values));
    }))));
}

function drawSettings() {
  const table = (label, entries) => element("div", {}, element("h3", {}, label), element("div", { class: "box" }, element("table", {}, element("tbody", {},
    ...Object.entries(entries).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, String(value))))))));
  byId("settings").append(heading("settings", "Configuration and versions"),
    foldedPart("Counts, parameters and versions, for those who repeat the fit", factList(),
      ...report.notes.map((text) => element("p", { class: "small" }, text)),
      element("div", { class: "pair" }, table("Configuration", report.configuration), table("Versions", report.versions))));
}
