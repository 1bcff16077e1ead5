/* The table of domains: sorts by any column, filters by name and role. */
const order = { column: "domain", falling: false };

function tableColumns() {
  const columns = [
    { name: "domain", values: domains.map((domain) => domain.name) },
    { name: "role", values: domains.map((domain) => domain.role) },
    { name: "rows", values: domains.map((domain) => domain.rows), show: number },
    { name: "index 1", values: domains.map(x), show: number },
  ];
  if (domains[0].coordinates.length > 1) columns.push({ name: "index 2", values: domains.map(y), show: number });
  columns.push({ name: "distance", values: domains.map((domain) => domain.distance_to_source), show: number });
  if (report.held_out) {
    const plain = new Map(report.held_out.scores.map((one) => [one.name, one.baseline]));
    columns.push({ name: "held out", values: domains.map((domain) => domain.held_out_score), show: score });
    columns.push({ name: "plain model", values: domains.map((domain) => (plain.has(domain.name) ? plain.get(domain.name) : null)), show: score });
  }
  if (Object.hasOwn(report.columns, choice.column)) columns.push({ name: choice.column, values: report.columns[choice.column], show: number, text: report.columns[choice.column].some((value) => typeof value === "string") });
  return columns;
}

/* Numbers by size, texts as a reader counts (2 before 10); what is not known comes last. */
function compare(a, b, falling) {
  if (a === null || b === null) return (a === null) - (b === null);
  const rising = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return falling ? -rising : rising;
}

function headCell(column) {
  const sorted = order.column === column.name;
  const button = element("button", { type: "button", onclick: () => {
    order.falling = order.column === column.name && !order.falling;
    order.column = column.name;
    drawTable();
    const again = [...document.querySelectorAll("#domains thead button")].find((one) => one.dataset.column === column.name);
    if (again) again.focus();
  } }, column.name);
  button.dataset.column = column.name;
  return element("th", { scope: "col", class: column.show && !column.text ? "number" : null, "aria-sort": sorted ? (order.falling ? "descending" : "ascending") : "none" }, button);
}

function bodyCell(column, place) {
  const domain = domains[place];
  if (column.name === "domain") {
    return element("th", { scope: "row" }, element("button", { type: "button", "aria-pressed": String(choice.selected === place), onclick: () => choose({ selected: choice.selected === place ? null : place }) }, domain.name));
  }
  if (column.name === "role") return element("td", { class: "role" }, element("span", { class: "swatch " + domain.role, "aria-hidden": "true" }), domain.role);
  return element("td", { class: column.text ? null : "number" }, column.show(column.values[place]));
}

function drawTable() {
  const columns = tableColumns();
  const sorting = columns.find((column) => column.name === order.column) || columns[0];
  order.column = sorting.name;
  const wanted = byId("filter").value.trim().toLowerCase();
  const places = [...domains.keys()]
    .filter((place) => (domains[place].name + " " + domains[place].role).toLowerCase().includes(wanted))
    .sort((a, b) => compare(sorting.values[a], sorting.values[b], order.falling));
  const near = new Set(neighbourNumbers(choice.selected));
  byId("domains").querySelector("thead").replaceChildren(element("tr", {}, ...columns.map(headCell)));
  byId("domains").querySelector("tbody").replaceChildren(...places.map((place) =>
    element("tr", { class: place === choice.selected ? "chosen" : near.has(place) ? "near" : null }, ...columns.map((column) => bodyCell(column, place)))));
  byId("shown").textContent = places.length + " of " + domains.length + " domains";
}

/* A choice draws the rows anew; the reader's place on the keyboard stays. */
function redrawTable() {
  const focused = document.activeElement && document.activeElement.closest("#domains tbody") ? document.activeElement.textContent : null;
  drawTable();
  if (focused === null) return;
  const again = [...document.querySelectorAll("#domains tbody button")].find((button) => button.textContent === focused);
  if (again) again.focus({ preventScroll: true });
}

function startTable() {
  byId("filter").addEventListener("input", drawTable);
  listeners.push(redrawTable);
  drawTable();
}
