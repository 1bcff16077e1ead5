/* Why is this domain far? The columns in which it differs most, as small distributions. */

/* The chosen domain; without one, the target that lies farthest from every source. */
function explainedPlace() {
  if (choice.selected !== null) return choice.selected;
  let far = 0;
  domains.forEach((domain, place) => { if (domain.distance_to_source > domains[far].distance_to_source) far = place; });
  return far;
}

/* Of ranges the one that holds the median. */
function medianBin(column, shares) {
  let sum = 0;
  for (let bin = 0; bin < shares.length; bin += 1) { sum += shares[bin]; if (sum >= 0.5) return column.bins[bin]; }
  return "nothing known";
}

function whyWords(column, shares, around) {
  const known = (values) => values.some((value) => value > 0);
  if (column.ordered) {
    return "Median: " + medianBin(column, shares) + "; its neighbours: " + (known(around) ? medianBin(column, around) : "–") + "; the sources: " + medianBin(column, column.sources) + ".";
  }
  let most = 0;
  shares.forEach((share, bin) => { if (Math.abs(2 * share - around[bin] - column.sources[bin]) > Math.abs(2 * shares[most] - around[most] - column.sources[most])) most = bin; });
  return "“" + column.bins[most] + "”: " + percent(shares[most]) + " of its rows, " + percent(around[most]) + " of its neighbours', " + percent(column.sources[most]) + " of the sources'.";
}

/* Bars for the domain, marks for its neighbours and for the sources. */
function smallPicture(column, shares, around, words) {
  const [width, height] = [240, 70];
  const top = Math.max(0.01, ...shares, ...around, ...column.sources);
  const step = width / shares.length;
  const level = (share) => height - (height - 4) * (share / top);
  const parts = [];
  shares.forEach((share, bin) => parts.push(drawn("rect", { class: "own", x: (bin * step + step * 0.14).toFixed(1), y: level(share).toFixed(1), width: (step * 0.72).toFixed(1), height: (height - level(share)).toFixed(1) })));
  for (const [kind, values] of [["around", around], ["from", column.sources]]) {
    values.forEach((share, bin) => parts.push(drawn("path", { class: kind, d: "M" + (bin * step + step * 0.04).toFixed(1) + " " + level(share).toFixed(1) + "h" + (step * 0.92).toFixed(1) })));
  }
  parts.push(drawn("path", { class: "ground", d: "M0 " + height + "H" + width }));
  return drawn("svg", { viewBox: "0 0 " + width + " " + (height + 1), preserveAspectRatio: "none", role: "img", "aria-label": words }, ...parts);
}

function binLabels(column) {
  if (column.ordered) return element("div", { class: "ends" }, element("span", {}, column.bins[0]), element("span", {}, column.bins.length > 1 ? column.bins[column.bins.length - 1] : ""));
  return element("div", { class: "levels" }, ...column.bins.map((bin) => element("span", { title: bin }, bin)));
}

function whyCard(one) {
  const column = report.profiles[one.column];
  const [shares, around] = [sharesOf(one.shares), sharesOf(one.around)];
  const words = whyWords(column, shares, around);
  return element("figure", { class: "why-card" }, element("figcaption", {}, element("h4", {}, column.name), element("p", {}, words)),
    smallPicture(column, shares, around, words), binLabels(column),
    element("p", { class: "small" }, "Differs by " + one.neighbours.toFixed(2) + " from its neighbours and " + one.sources.toFixed(2) + " from the sources; chance gives " + one.chance.toFixed(2) + "."));
}

function missingTable(domain) {
  if (!domain.missing.length) {
    return report.domains.missing.some((one) => one.length) ? element("p", { class: "small" }, "No value is missing in this domain.") : "";
  }
  return element("div", {}, element("h4", {}, "Missing values"), element("div", { class: "box" }, element("table", { class: "missing" },
    element("thead", {}, element("tr", {}, ...["column", "missing here", "in the sources"].map((label, place) => element("th", { scope: "col", class: place ? "number" : null }, label)))),
    element("tbody", {}, ...domain.missing.map((one) => element("tr", {}, element("th", { scope: "row" }, report.profiles[one.column].name), element("td", { class: "number" }, percent(one.share, 1)), element("td", { class: "number" }, percent(report.profiles[one.column].missing, 1))))))));
}

function placeWords(domain, place) {
  const chosen = choice.selected === null ? "No domain is selected; this is the one that lies farthest from every source. " : "";
  const where = domain.role === "source" ? "It is a source." : !HAS_SOURCES ? "" : "It lies " + number(domain.distance_to_source) + " median spacings from the nearest source.";
  const near = domain.neighbours.length ? " Its neighbours on the map: " + domain.neighbours.map((one) => domains[one].name).join(", ") + "." : "";
  return chosen + where + near + (domain.forecast ? " Expected " + forecastName() + ": " + expectedText(domain.forecast) + "." : "") + (isBeyond(domain) ? " Beyond what held-out sources showed: " + domain.forecast.reason + "." : "");
}

function drawWhy() {
  if (!report.profiles.length) return;
  const place = explainedPlace();
  const domain = domains[place];
  byId("why").hidden = false;
  const cards = domain.differences.length
    ? [element("ul", { class: "key", "aria-label": "Key to the distributions" }, ...[["own", "this domain"], ["around", "its neighbours"], ["from", "the sources"]].map(([kind, label]) => element("li", {}, element("span", { class: "mark " + kind, "aria-hidden": "true" }), label))),
      element("div", { class: "why-cards" }, ...domain.differences.map(whyCard))]
    : [element("p", {}, "In no column does it differ from its neighbours and the sources by more than chance would give, or it has too few rows to be compared.")];
  byId("why-panel").replaceChildren(element("h3", {}, domain.name), element("p", {}, placeWords(domain, place)), ...cards, missingTable(domain));
}

function startWhy() {
  drawWhy();
  listeners.push(drawWhy);
}
