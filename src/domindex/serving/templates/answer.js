/* What a table was answered: figures, a file, the first rows, its domains. */
function fact(name, value) { return element("div", {}, element("dt", {}, name), element("dd", {}, value)); }

function downloadLink() {
  const file = new Blob([answer.csv], { type: "text/csv;charset=utf-8" });
  return element("a", { class: "main", id: "download", href: URL.createObjectURL(file), download: "predictions.csv" }, "Download all " + counted(answer.rows, "row") + " as CSV");
}

function firstRows() {
  const numeric = answer.columns.map((_, column) => answer.first.every((row) => row[column] === null || typeof row[column] === "number"));
  const shown = (value, column) => (numeric[column] && answer.columns[column].startsWith("p(") && value !== null ? value.toFixed(3) : number(value));
  const cell = (value, column) => element("td", { class: numeric[column] ? "number" : String(value).length <= 24 ? "whole" : null }, shown(value, column));
  return element("div", { class: "box", tabindex: "0", role: "region", "aria-label": "First predictions" }, element("table", { id: "first" },
    element("thead", {}, element("tr", {}, ...answer.columns.map((name, column) => element("th", { scope: "col", class: numeric[column] ? "number" : null }, name)))),
    element("tbody", {}, ...answer.first.map((row) => element("tr", {}, ...row.map(cell))))));
}

function drawAnswer() {
  const section = byId("answer");
  section.hidden = false;
  const off = answer.n_off_map ? element("p", { class: "warnings", role: "alert" }, counted(answer.n_off_map, "domain lies", "domains lie") + " off the map: further from all known domains than these are from each other. Expect little of predictions there.") : "";
  const notes = answer.notes.length ? element("details", { open: answer.notes.length < 4 ? "" : null }, element("summary", {}, "What was done to the table"), element("ul", { class: "reasons" }, ...answer.notes.map((note) => element("li", {}, note)))) : "";
  section.append(element("h2", { id: "answer-title" }, "Predictions for " + answer.file), off,
    element("dl", { class: "facts" }, fact("rows", number(answer.rows)), fact("domains", number(answer.n_domains)), fact("new domains", number(answer.n_new)), fact("off the map", number(answer.n_off_map))),
    element("div", { class: "actions" }, downloadLink()), firstRows(),
    answer.rows > answer.first.length ? element("p", { class: "small" }, "The first " + number(answer.first.length) + " of " + counted(answer.rows, "row") + "; the file holds all.") : "", notes);
}

const DOMAIN_COLUMNS = [["domain", null], ["role", null], ["rows", "number"], ["expected", "number"], ["distance", "number"], ["nearest known", null]];

function domainRow(one) {
  const place = placeOf.get(one.domain);
  const name = element("button", { type: "button", onclick: () => { select(place === undefined ? null : place); mapElement.scrollIntoView({ block: "center", behavior: "smooth" }); } }, one.domain);
  const swatch = element("span", { class: "swatch " + one.role, "aria-hidden": "true" });
  const row = element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: "role" }, swatch, one.role, one.off_map ? element("span", { class: "flag" }, "off the map") : ""),
    element("td", { class: "number" }, number(one.rows)), element("td", { class: "number" + (one.off_map ? " small-cell" : "") }, forecastText(one)), element("td", { class: "number" }, number(one.distance)),
    element("td", {}, one.nearest1 || "–"));
  row.dataset.name = one.domain;
  return row;
}

function drawPlaced() {
  byId("placed").hidden = false;
  const left = answer.n_domains - answer.domains.length;
  byId("placed-words").textContent = counted(answer.n_new, "domain was", "domains were") + " not in the fit and placed by the inputs alone; nothing was learned from the table." + (left > 0 ? " " + number(left) + " more domains are in the file only." : "");
  const head = DOMAIN_COLUMNS.map(([name, kind]) => element("th", { scope: "col", class: kind }, name === "expected" ? forecastName() : name));
  byId("domains").querySelector("thead").replaceChildren(element("tr", {}, ...head));
  byId("domains").querySelector("tbody").replaceChildren(...answer.domains.map(domainRow));
}

function markChosen() {
  const chosen = seen.selected === null ? null : points[seen.selected].name;
  for (const row of document.querySelectorAll("#domains tbody tr")) row.className = row.dataset.name === chosen ? "chosen" : "";
}
