/* What does not change: facts, warnings, quality, audit, history, settings. */
function heading(id, text) { return element("h2", { id: id + "-title" }, text); }

function drawHead() {
  const kind = report.task === "classification" ? "classifies" : "predicts values";
  byId("head").append(
    element("h1", {}, report.title),
    element("p", { class: "lead" }, "A " + report.estimator + " that " + kind + " in domains without labels, and the map of the domains that it inferred."),
    element("dl", { class: "facts" }, ...Object.entries(report.facts).map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value === null ? "none" : number(value))))));
}

function drawWarnings() {
  if (!report.warnings.length) return;
  const section = byId("warnings");
  section.hidden = false;
  section.className = "warnings";
  section.append(heading("warnings", "Before you rely on this"), element("ul", {}, ...report.warnings.map((text) => element("li", {}, text))));
}

function mean(values) { return values.reduce((sum, value) => sum + value, 0) / values.length; }

function drawQuality() {
  const section = byId("quality");
  section.append(heading("quality", "Prediction quality on held-out source domains"));
  const found = report.held_out;
  if (found === null) {
    section.append(...report.notes.map((text) => element("p", {}, text)));
    return;
  }
  const [ours, plain] = [mean(found.scores.map((one) => one.score)), mean(found.scores.map((one) => one.baseline))];
  section.append(
    element("p", {}, element("strong", {}, "Mean " + found.score_name + " " + score(ours)), ", a plain model " + score(plain) + ", over " + found.scores.length + " source domains whose labels were hidden; " + (found.higher_is_better ? "higher" : "lower") + " is better."),
    element("div", { id: "quality-plot", class: "plot", role: "img", "aria-label": "Scores by domain; the table of domains holds the same figures" }),
    element("p", { class: "small" }, found.method + " The plain model: " + found.baseline),
    ...report.notes.map((text) => element("p", { class: "small" }, text)));
  drawQualityPlot();
}

function drawQualityPlot() {
  const found = report.held_out;
  if (found === null) return;
  const scores = [...found.scores].sort((a, b) => compare(a.name, b.name, true));
  const height = Math.max(200, 108 + 24 * scores.length);
  byId("quality-plot").style.height = height + "px";
  const rows = [...scores.keys()];
  const hover = (label, value) => scores.map((one) => plotlyText(one.name) + ": " + label + " " + score(value(one)));
  const joined = { x: [], y: [] };
  scores.forEach((one, row) => { joined.x.push(one.baseline, one.score, null); joined.y.push(row, row, null); });
  const traces = [
    Object.assign(joined, { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: theme("line"), width: 3 }, showlegend: false }),
    { type: "scatter", mode: "markers", name: "plain model", x: scores.map((one) => one.baseline), y: rows, hoverinfo: "text", hovertext: hover("plain model", (one) => one.baseline),
      marker: { symbol: "diamond-open", size: 13, color: theme("target"), line: { width: 2 } } },
    { type: "scatter", mode: "markers", name: "this model", x: scores.map((one) => one.score), y: rows, hoverinfo: "text", hovertext: hover("this model", (one) => one.score),
      marker: { symbol: "circle", size: 9, color: theme("source") } },
  ];
  const short = (name) => plotlyText(name.length > 24 ? name.slice(0, 23) + "…" : name);
  const layout = plotLayout({ height, margin: { l: 60, r: 24, t: 12, b: 56 }, dragmode: false, hovermode: "closest", showlegend: true,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { title: { text: plotlyText(found.score_name), standoff: 8 }, tickformat: isShare() ? ".0%" : "", fixedrange: true, zeroline: false },
    yaxis: { tickvals: rows, ticktext: scores.map((one) => short(one.name)), range: [-0.6, scores.length - 0.4], zeroline: false, fixedrange: true } });
  if (isShare()) layout.xaxis.range = [Math.min(0.5, ...found.scores.flatMap((one) => [one.score, one.baseline])) - 0.03, 1.03];
  Plotly.react("quality-plot", traces, layout, Object.assign({}, PLOT_SETTINGS, { displayModeBar: false }));
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

function drawTrials() {
  if (!report.trials.length) return;
  const section = byId("trials");
  section.hidden = false;
  const names = Object.keys(report.trials[0]);
  const show = (value) => (value === true ? "yes" : value === false ? "no" : typeof value === "string" ? spaced(value) : number(value));
  const kind = (name) => (typeof report.trials[0][name] === "number" ? "number" : null);
  section.append(heading("trials", "How rows were represented"),
    element("p", {}, "Each way was tried on held-out source domains; a lower score is better."),
    element("div", { class: "box", tabindex: "0", role: "region", "aria-labelledby": "trials-title" }, element("table", {},
      element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col", class: kind(name) }, spaced(name))))),
      element("tbody", {}, ...report.trials.map((row) => element("tr", { class: row.weight > 0 ? "chosen" : null }, ...names.map((name) => element("td", { class: kind(name) }, show(row[name])))))))));
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
  byId("settings").append(heading("settings", "Configuration and versions"), element("div", { class: "pair" }, table("Configuration", report.configuration), table("Versions", report.versions)));
}
