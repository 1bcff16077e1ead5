/* Can I rely on it? What to expect in every target, what plain models would give, what was chosen. */
const MOST_FORECASTS = 30;

function mean(values) { return values.reduce((sum, value) => sum + value, 0) / values.length; }

function tile(label, value, more) {
  return element("div", {}, element("dt", {}, label), element("dd", {}, value), more ? element("dd", { class: "more" }, more) : null);
}

/* With one source, rows of it are held out, for there is no other domain to hold out. */
const ONE_SOURCE = domains.filter((domain) => domain.role === "source").length === 1;
const HELD_OUT_WHAT = ONE_SOURCE ? "held-out rows of the source" : "held-out sources";

/* The targets with a forecast, the worst first. */
function forecasts() {
  const better = sharesExpected() ? 1 : -1;
  return [...domains.keys()].filter((place) => domains[place].forecast).sort((a, b) => better * (domains[a].forecast.expected - domains[b].forecast.expected));
}

function relyTiles(known) {
  const tiles = [];
  if (known.length) {
    const expected = known.map((place) => domains[place].forecast.expected);
    const [low, high] = extent(expected);
    tiles.push(tile("expected " + forecastName() + " in the targets", forecastNumber(mean(expected)), known.length === 1 ? "80 %: " + forecastNumber(domains[known[0]].forecast.low) + " to " + forecastNumber(domains[known[0]].forecast.high) : forecastNumber(low) + " to " + forecastNumber(high) + " by target"));
  }
  const found = report.held_out;
  if (found !== null && found.scores.length) {
    tiles.push(tile(found.score_name + " on " + HELD_OUT_WHAT, score(mean(found.scores.map((one) => one.score))), ONE_SOURCE ? "this model" : "this model, mean of " + found.scores.length + (found.scores.length === 1 ? " source" : " sources")));
    if (Object.keys(found.plain_figures).length) tiles.push(tile("the best plain model there", score(mean(found.scores.map((one) => one.baseline))), plainName(found)));
  }
  return tiles;
}

function plainName(found) { return found.baseline.split(",")[0].toLowerCase(); }

function verdict(known) {
  const found = report.held_out;
  const words = [];
  if (found !== null && found.scores.length && Object.keys(found.plain_figures).length) {
    const gain = (found.higher_is_better ? 1 : -1) * (mean(found.scores.map((one) => one.score)) - mean(found.scores.map((one) => one.baseline)));
    const clear = found.higher_is_better ? 0.01 : 0.03 * Math.abs(mean(found.scores.map((one) => one.baseline)));
    const where = ONE_SOURCE ? "On rows of the only source that it had not seen, " : "On source domains that it had not seen, ";
    words.push(where + (gain > clear ? "this model did better than the best plain model."
      : gain < -clear ? "a plain model did better: compare both before you rely on this one."
      : "this model did about as well as the best plain model."));
  }
  if (known.length) {
    const worst = domains[known[0]];
    words.push((known.length === 1 ? "The target, " : "Of " + number(known.length) + " targets the one that is expected to fare worst is ") + worst.name + (known.length === 1 ? ", is expected at " : ", at ") + expectedText(worst.forecast) + ".");
  }
  return words.join(" ");
}

function drawRely() {
  const section = byId("rely");
  const known = forecasts();
  section.append(heading("rely", "Can I rely on it?"));
  const words = verdict(known);
  if (words) section.append(element("p", { class: "verdict-line" }, words));
  const tiles = relyTiles(known);
  if (tiles.length) section.append(element("dl", { class: "facts wide" }, ...tiles));
  drawDoubts(section, known);
  if (known.length) {
    const some = known.length > MOST_FORECASTS ? "The " + MOST_FORECASTS + " targets that are expected to fare worst, of " + number(known.length) + "; the table of domains has all. " : "";
    section.append(element("h3", {}, "What to expect in the targets"),
      element("div", { id: "forecast-plot", class: "plot", role: "img", "aria-label": "Expected " + forecastName() + " by target with intervals of 80 %; the table of domains holds the same figures" }),
      element("ul", { id: "forecast-key", class: "key", "aria-label": "Key to the forecasts" }),
      element("p", { class: "small", id: "expected" }, some + "Points are forecasts of the " + forecastName() + " in a target, lines intervals of 80 %" + (ONE_SOURCE ? ". No domain could be held out, so that nothing says how far they hold." : ", from how held-out sources were predicted: 8 of 10 targets should end within theirs.")));
  }
  drawForecastPlot();
}

/* Where not to trust it: targets unlike all that was held out, with the reason, and what else may mislead. */
const MOST_REASONS = 4;
function drawDoubts(section, known) {
  const beyond = known.filter((place) => isBeyond(domains[place]));
  const lines = beyond.slice(0, MOST_REASONS).map((place) => element("li", {}, element("strong", {}, domains[place].name), ": " + domains[place].forecast.reason + ". Its interval is at least as wide as drawn."));
  if (beyond.length > MOST_REASONS) lines.push(element("li", {}, number(beyond.length - MOST_REASONS) + " more targets are unlike all that held-out sources showed; they are marked ⚠ below."));
  lines.push(...report.warnings.map((text) => element("li", {}, text)));
  if (lines.length) section.append(element("div", { id: "warnings", class: "warnings" }, element("h3", {}, "Where not to trust it"), element("ul", {}, ...lines)));
  else if (known.length) section.append(element("p", { id: "no-doubts" }, "No target is unlike what held-out sources showed, and nothing else stands out."));
}

/* Who predicts, and why others do not. */
function drawChosen() {
  const section = byId("chosen");
  section.hidden = !(report.summary || []).length && !report.trials.length;
  if (section.hidden) return;
  const fold = foldedPart("Who predicts, and why others do not", element("ul", { class: "reasons" }, ...(report.summary || []).map((text) => element("li", {}, text))));
  section.append(element("h2", { id: "chosen-title" }, "What was chosen, and why?"), fold);
  if (!report.trials.length) return;
  const names = Object.keys(report.trials[0]);
  const show = (name, value) => (value === true ? "yes" : value === false ? "no" : typeof value === "string" ? spaced(value) : name === "weight" && value !== null ? percent(value) : number(value));
  const kind = (name) => (report.trials.some((row) => typeof row[name] === "number") ? "number" : null);
  fold.append(
    element("div", { class: "box", id: "trials", tabindex: "0", role: "region", "aria-labelledby": "chosen-title" }, element("table", {},
      element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col", class: kind(name) }, spaced(name))))),
      element("tbody", {}, ...report.trials.map((row) => element("tr", {}, ...names.map((name) => element("td", { class: kind(name) }, show(name, row[name])))))))),
    element("p", { class: "small" }, (ONE_SOURCE ? "Each candidate predicted rows of the source whose labels it had not seen" : "Each candidate predicted source domains whose labels it had not seen, near the others and far from them") + "; a lower loss is better."));
}

function drawForecastPlot() {
  if (!byId("forecast-plot")) return;
  const known = forecasts().slice(0, MOST_FORECASTS).reverse();
  const height = Math.max(190, 108 + 24 * known.length);
  byId("forecast-plot").style.height = height + "px";
  const rows = [...known.keys()];
  const of = (name) => known.map((place) => domains[place].forecast[name]);
  const lines = { x: [], y: [] };
  known.forEach((place, row) => { lines.x.push(domains[place].forecast.low, domains[place].forecast.high, null); lines.y.push(row, row, null); });
  const traces = [
    Object.assign(lines, { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: theme("target"), width: 4 }, opacity: 0.45, name: "80 % interval" }),
    { type: "scatter", mode: "markers", name: "expected", x: of("expected"), y: rows, hoverinfo: "text", marker: { size: 10, symbol: known.map((place) => (isBeyond(domains[place]) ? "circle-open" : "circle")), color: theme("target"), line: { width: 2, color: theme("target") } },
      customdata: known, hovertext: known.map((place) => plotlyText(domains[place].name) + ": " + expectedText(domains[place].forecast)) },
  ];
  const found = report.held_out;
  const levels = found === null || !found.scores.length ? [] : [[HELD_OUT_WHAT + ", this model", mean(found.scores.map((one) => one.score)), "solid", "source"]];
  if (levels.length && Object.keys(found.plain_figures).length) levels.push([HELD_OUT_WHAT + ", plain model", mean(found.scores.map((one) => one.baseline)), "dot", "muted"]);
  for (const [name, value, dash, colour] of levels) {
    traces.push({ type: "scatter", mode: "lines", name, x: [value, value], y: [-0.6, known.length - 0.4], hoverinfo: "text", hovertext: name + ": " + score(value), line: { color: theme(colour), width: 1.5, dash } });
  }
  drawMarks("forecast-key", [["expected", "dot", "target"], ["80 % interval", "wide", "target"], ...levels.map(([name, , dash, colour]) => [name, dash === "dot" ? "dotted" : "solid", colour])]);
  const layout = intervalLayout(known.map((place) => markedName(domains[place])), forecastName(), sharesExpected(), height);
  const [low, high] = extent([...of("low"), ...of("high"), ...levels.map((level) => level[1])]);
  layout.xaxis.range = [low - 0.03 * (high - low || 1), high + 0.03 * (high - low || 1)];
  Plotly.react("forecast-plot", traces, layout, Object.assign({}, PLOT_SETTINGS, { displayModeBar: false })).then((plot) => {
    if (plot.dataset.listens) return;
    plot.dataset.listens = "true";
    plot.on("plotly_click", (event) => { const place = event.points[0].customdata; if (place !== undefined) choose({ selected: place }); });
  });
}

/* What the marks of a plot are, beside it: a legend inside would take its room on a phone. */
const MARKS = {
  dot: (colour) => drawn("circle", { cx: 10, cy: 6, r: 5, fill: colour }),
  diamond: (colour) => drawn("path", { d: "M10 1L15 6L10 11L5 6Z", fill: "none", stroke: colour, "stroke-width": 2 }),
  wide: (colour) => drawn("path", { d: "M0 6H20", stroke: colour, "stroke-width": 4, opacity: 0.5 }),
  solid: (colour) => drawn("path", { d: "M0 6H20", stroke: colour, "stroke-width": 2 }),
  dotted: (colour) => drawn("path", { d: "M0 6H20", stroke: colour, "stroke-width": 2, "stroke-dasharray": "2 3" }),
};
function drawMarks(id, entries) {
  byId(id).replaceChildren(...entries.map(([label, mark, colour]) => element("li", {}, drawn("svg", { width: 20, height: 12, "aria-hidden": "true" }, MARKS[mark](theme(colour))), label)));
}

/* Names on the left, figures across; the names as long as the screen allows. */
function intervalLayout(names, title, shares, height) {
  const narrow = document.documentElement.clientWidth < 560;
  const texts = names.map((name) => shortName(name, narrow ? 14 : 28));
  const room = Math.ceil(Math.max(30, ...texts.map(textWidth)));
  return plotLayout({ height, margin: { l: room + 6, r: 20, t: 12, b: 50 }, dragmode: false, hovermode: "closest",
    xaxis: { title: { text: plotlyText(title), standoff: 8 }, tickformat: shares ? ".2~%" : "", fixedrange: true, zeroline: false, nticks: narrow ? 5 : 10, automargin: false },
    yaxis: { automargin: false, tickvals: [...names.keys()], ticktext: texts.map(plotlyText), range: [-0.7, names.length - 0.3], zeroline: false, fixedrange: true, showgrid: false } });
}
