/* What drives predictions, and how good they were on held-out sources. */
const MOST_DRIVERS = 15, MOST_SCORES = 40;

function drawDrivers() {
  const section = byId("drivers");
  section.append(heading("drivers", "What drives predictions?"));
  if (!report.drivers.length) {
    section.append(element("p", {}, "It is not known which columns matter: rows are pictures or signals, or nothing but a network predicts."));
    return;
  }
  const shares = report.task === "classification";
  const shown = report.drivers.slice(0, MOST_DRIVERS);
  const most = Math.max(...shown.map((one) => one.importance), 1e-12);
  const text = (value) => (shares ? (100 * value).toFixed(1) : percent(value, Math.abs(value) < 0.1 ? 1 : 0)).replace("-", "−");
  section.append(
    element("p", {}, shares
      ? "How many points of probability the right class loses, on average over held-out sources, when a column is shuffled among the rows of a domain. About 0: the column is not used."
      : "By how much the error on held-out sources rises, as a share of it, when a column is shuffled among the rows of a domain. About 0: the column is not used."),
    element("div", { class: "bars" }, ...shown.flatMap((one) => [
      element("span", { class: "bar-name" }, one.column),
      element("span", { class: "bar", "aria-hidden": "true" }, element("span", { style: "width:" + (100 * Math.max(0, one.importance) / most).toFixed(1) + "%" })),
      element("span", { class: "bar-value" }, text(one.importance) + " ± " + text(one.standard_error))])));
  if (report.drivers.length > MOST_DRIVERS) section.append(element("p", { class: "small" }, number(report.drivers.length - MOST_DRIVERS) + " more columns matter less than these."));
  section.append(element("p", { class: "small" }, "Measured on the heaviest member of the committee. Columns that go together share what they carry: each may look less important than both are. This says what the model uses, not what causes what."));
}

const FIGURES = {
  accuracy: ["accuracy", (value) => percent(value, 1), "share of rows whose class is right"],
  auc: ["AUC", (value) => value.toFixed(3), "0.5 is guessing, 1 is perfect"],
  brier: ["Brier score", (value) => value.toFixed(3), "squared error of the probabilities, 0 is perfect"],
  log_loss: ["log loss", (value) => value.toFixed(3), "lower is better"],
  rmse: ["root mean squared error", number, "in the units of the target"],
  mae: ["mean absolute error", number, "in the units of the target"],
  r2: ["R²", (value) => value.toFixed(3).replace("-", "−"), "0 is the mean, 1 is perfect"],
  bias: ["bias", number, "predicted minus true, 0 is none"],
};

/* The score is the mean over sources, as everywhere on this page; other figures are of all rows. */
function withMeans(found) {
  const name = found.higher_is_better ? "accuracy" : "rmse";
  const replaced = (figures, value) => (name in figures ? Object.assign({}, figures, { [name]: value }) : figures);
  return Object.assign({}, found, { figures: replaced(found.figures, mean(found.scores.map((one) => one.score))), plain_figures: replaced(found.plain_figures, mean(found.scores.map((one) => one.baseline))) });
}

function figureTable(given) {
  const found = withMeans(given);
  const plain = Object.keys(found.plain_figures).length > 0;
  const names = Object.keys(FIGURES).filter((name) => name in found.figures);
  return element("div", { class: "box" }, element("table", { id: "figures" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "on held-out sources"), element("th", { scope: "col", class: "number" }, "this model"), plain ? element("th", { scope: "col", class: "number" }, "plain model") : null, element("th", { scope: "col", class: "wide-only" }, ""))),
    element("tbody", {}, ...names.map((name) => element("tr", {}, element("th", { scope: "row" }, FIGURES[name][0]), element("td", { class: "number" }, FIGURES[name][1](found.figures[name])),
      plain ? element("td", { class: "number" }, name in found.plain_figures ? FIGURES[name][1](found.plain_figures[name]) : "–") : null, element("td", { class: "wide-only small-cell" }, FIGURES[name][2]))))));
}

function confusionTable(found) {
  const many = found.classes.length > 6; /* no decimals, so that ten classes fit beside the curve */
  const shade = (share) => "background: color-mix(in srgb, var(--source) " + Math.round(60 * share) + "%, transparent)";
  return element("div", {}, element("h3", {}, "Which classes are taken for which" + (many ? ", in %" : "")), element("div", { class: "box" }, element("table", { id: "confusion" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "true class"), ...found.classes.map((name) => element("th", { scope: "col", class: "number" }, (many ? "" : "as ") + name)))),
    element("tbody", {}, ...found.confusion.map((row, place) => element("tr", {}, element("th", { scope: "row" }, found.classes[place]), ...row.map((share) => element("td", { class: "number", style: shade(share) }, many ? Math.round(100 * share) : percent(share, 1)))))))));
}

function coverageTable(found) {
  return element("div", {}, element("h3", {}, "Do intervals hold what they say?"), element("div", { class: "box" }, element("table", { id: "coverage" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "number" }, "should hold"), element("th", { scope: "col", class: "number" }, "held"))),
    element("tbody", {}, ...found.coverage.map(([level, held]) => element("tr", {}, element("td", { class: "number" }, percent(level)), element("td", { class: "number" }, percent(held, 1))))))));
}

function drawQuality() {
  const section = byId("quality");
  section.append(heading("quality", "How good on held-out sources?"));
  const found = report.held_out;
  if (found === null || !found.scores.length) {
    section.append(element("p", {}, "It is not known how well source domains are predicted that the model had not seen."));
    return;
  }
  const plot = (id, label) => element("div", { id, class: "plot", role: "img", "aria-label": label });
  const titled = (title, child) => element("div", {}, element("h3", {}, title), child);
  const parts = [];
  if (found.calibration.length > 1) parts.push(titled(report.task === "classification" ? "Can probabilities be believed?" : "Are predictions right on average?", plot("calibration-plot", "Calibration: what was found against what was predicted")));
  if (found.residuals.length) parts.push(titled("How far off?", plot("residual-plot", "Errors of held-out rows")));
  if (found.confusion.length) parts.push(confusionTable(found));
  if (found.coverage.length) parts.push(coverageTable(found));
  const some = found.scores.length > MOST_SCORES ? ", the " + MOST_SCORES + " worst of " + number(found.scores.length) : "";
  section.append(figureTable(found), element("div", { class: "pair" }, ...parts),
    element("h3", {}, "By held-out source" + some), plot("quality-plot", "Scores by domain; the table of domains holds the same figures"), element("ul", { id: "quality-key", class: "key", "aria-label": "Key to the scores" }),
    element("p", { class: "small" }, found.method + " The plain model: " + found.baseline));
  drawQualityPlots();
}

function drawQualityPlots() {
  if (report.held_out === null || !report.held_out.scores.length) return;
  drawScorePlot();
  drawCalibration();
  drawResiduals();
}

const STILL = Object.assign({}, PLOT_SETTINGS, { displayModeBar: false });

function drawScorePlot() {
  const found = report.held_out;
  const worst = found.higher_is_better ? 1 : -1;
  const scores = [...found.scores].sort((a, b) => worst * (a.score - b.score)).slice(0, MOST_SCORES).reverse();
  const height = Math.max(190, 108 + 24 * scores.length);
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
  const compared = Object.keys(found.plain_figures).length > 0;
  if (!compared) traces.splice(0, 2);
  drawMarks("quality-key", [["this model", "dot", "source"], ...(compared ? [["plain model", "diamond", "target"]] : [])]);
  Plotly.react("quality-plot", traces, intervalLayout(scores.map((one) => one.name), found.score_name, isShare(), height), STILL);
}

function drawCalibration() {
  const found = report.held_out;
  if (!byId("calibration-plot")) return;
  byId("calibration-plot").style.height = "320px";
  const shares = report.task === "classification";
  const points = found.calibration;
  const [low, high] = shares ? [0, 1] : extent(points.flatMap((one) => [one[0], one[1]]));
  const text = (value) => (shares ? percent(value, 0) : number(value));
  const binary = found.classes.length === 2;
  const told = shares ? (binary ? "predicted probability of " + found.classes[1] : "confidence") : "predicted";
  const seen = shares ? (binary ? "share of rows that are " + found.classes[1] : "share of rows that are right") : "found, on average";
  const largest = Math.max(...points.map((one) => one[2]));
  const traces = [
    { type: "scatter", mode: "lines", x: [low, high], y: [low, high], hoverinfo: "skip", line: { color: theme("muted"), width: 1, dash: "dot" } },
    { type: "scatter", mode: "lines+markers", x: points.map((one) => one[0]), y: points.map((one) => one[1]), line: { color: theme("source"), width: 1.5 },
      marker: { color: theme("source"), size: points.map((one) => 6 + 12 * Math.sqrt(one[2] / largest)), line: { width: 1, color: theme("dot-edge") } }, hoverinfo: "text",
      hovertext: points.map((one) => "predicted " + text(one[0]) + "<br>found " + text(one[1]) + "<br>" + percent(one[2], 1) + " of the rows") },
  ];
  const format = shares ? ".0%" : "";
  Plotly.react("calibration-plot", traces, plotLayout({ height: 320, margin: { l: 56, r: 16, t: 16, b: 50 }, dragmode: false, hovermode: "closest",
    xaxis: { title: { text: plotlyText(shortName(told, 44)), standoff: 8 }, tickformat: format, fixedrange: true, zeroline: false },
    yaxis: { title: { text: plotlyText(shortName(seen, 40)), standoff: 6 }, tickformat: format, fixedrange: true, zeroline: false } }), STILL);
}

function drawResiduals() {
  const found = report.held_out;
  if (!byId("residual-plot")) return;
  byId("residual-plot").style.height = "320px";
  const bins = found.residuals;
  const traces = [{ type: "bar", x: bins.map((one) => (one[0] + one[1]) / 2), width: bins.map((one) => one[1] - one[0]), y: bins.map((one) => one[2]), hoverinfo: "text", marker: { color: theme("source"), line: { width: 1, color: theme("surface") } },
    hovertext: bins.map((one) => number(one[0]) + " to " + number(one[1]) + ": " + percent(one[2], 1) + " of the rows") }];
  Plotly.react("residual-plot", traces, plotLayout({ height: 320, margin: { l: 56, r: 16, t: 16, b: 50 }, dragmode: false, hovermode: "closest",
    xaxis: { title: { text: "predicted minus true", standoff: 8 }, fixedrange: true },
    yaxis: { title: { text: "share of rows", standoff: 6 }, tickformat: ".0%", fixedrange: true } }), STILL);
}
