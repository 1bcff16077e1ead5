/* The table of domains: sorts by any column, filters by name and role, pages; on paper it is whole. */
const PAGE_ROWS = 50;
const page = { number: 0, whole: false };
const order = { column: "domain", falling: false };

function tableColumns() {
  const shown = [
    { key: "domain", label: "domain", values: domains.map((domain) => domain.name) },
    { key: "role", label: "role", values: domains.map((domain) => domain.role) },
    { key: "rows", label: "rows", values: domains.map((domain) => domain.rows), show: number },
    { key: "index 1", label: "index 1", values: domains.map(x), show: number },
  ];
  if (domains[0].coordinates.length > 1) shown.push({ key: "index 2", label: "index 2", values: domains.map(y), show: number });
  if (closes()) shown.push({ key: "ring angle", label: "angle", values: domains.map((domain) => domain.angle), show: degrees });
  if (HAS_SOURCES) shown.push({ key: "distance", label: "distance", values: domains.map((domain) => domain.distance_to_source), show: number });
  if (report.held_out) {
    const plain = new Map(report.held_out.scores.map((one) => [one.name, one.baseline]));
    shown.push({ key: "held out", label: "held out", values: domains.map((domain) => domain.held_out_score), show: score });
    shown.push({ key: "plain", label: "plain model", values: domains.map((domain) => (plain.has(domain.name) ? plain.get(domain.name) : null)), show: score });
  }
  if (domains.some((domain) => domain.forecast)) {
    shown.push({ key: "expected", label: "expected", values: domains.map((domain) => (domain.forecast ? domain.forecast.expected : null)), show: number, wraps: true, cell: (domain) => expectedCell(domain.forecast) });
  }
  if (domains.some((domain) => domain.forecast && typeof domain.forecast.two_ways === "number")) {
    shown.push({ key: "two ways", label: "two ways agree", wraps: true, values: domains.map((domain) => (domain.forecast ? domain.forecast.two_ways : null)), show: (value) => (value === null ? "–" : (100 * value).toFixed(0) + " %") });
  }
  if (isNarrow() && domains.some((domain) => domain.forecast)) { /* a phone shows two columns: what is asked for first */
    const place = shown.findIndex((column) => column.key === "expected");
    shown.splice(1, 0, ...shown.splice(place, 1));
  }
  if (fromData(choice.column)) {
    const { label, values } = columns.get(choice.column);
    shown.push({ key: choice.column, label, values, show: number, text: values.some((value) => typeof value === "string") });
  }
  return shown;
}

const counting = new Intl.Collator("en", { numeric: true });

/* Numbers by size, texts as a reader counts (2 before 10); what is not known comes last. */
function compare(a, b, falling) {
  if (a === null || b === null) return (a === null) - (b === null);
  const rising = typeof a === "number" && typeof b === "number" ? a - b : counting.compare(String(a), String(b));
  return falling ? -rising : rising;
}

function headCell(column) {
  const sorted = order.column === column.key;
  const button = element("button", { type: "button", onclick: () => {
    page.number = 0;
    order.falling = order.column === column.key && !order.falling;
    order.column = column.key;
    drawTable();
    const again = [...document.querySelectorAll("#domains thead button")].find((one) => one.dataset.column === column.key);
    if (again) again.focus();
  } }, column.label);
  button.dataset.column = column.key;
  return element("th", { scope: "col", class: column.text || !column.show ? null : column.wraps ? "number wraps" : "number", "aria-sort": sorted ? (order.falling ? "descending" : "ascending") : "none" }, button);
}

function bodyCell(column, place) {
  const domain = domains[place];
  if (column.key === "domain") {
    return element("th", isBeyond(domain) ? { scope: "row", class: "beyond", title: domain.forecast.reason } : { scope: "row" }, element("button", { type: "button", "aria-pressed": String(choice.selected === place), onclick: () => choose({ selected: choice.selected === place ? null : place }) }, domain.name));
  }
  if (column.key === "role") return element("td", { class: "role" }, element("span", { class: "swatch " + domain.role, "aria-hidden": "true" }), domain.role);
  const text = column.cell ? column.cell(domain) : column.show(column.values[place]);
  return element("td", { class: column.text ? null : column.wraps ? "number wraps" : "number" }, text);
}

/* Numbers of the domains that the filter lets through, in order. */
function tablePlaces(sorting) {
  const wanted = plainText(byId("filter").value.trim());
  return [...domains.keys()]
    .filter((place) => searched[place].includes(wanted) || (wanted.length > 2 && domains[place].role.startsWith(wanted)))
    .sort((a, b) => compare(sorting.values[a], sorting.values[b], order.falling));
}

function drawTable() {
  const shown = tableColumns();
  const sorting = shown.find((column) => column.key === order.column) || shown[0];
  order.column = sorting.key;
  const places = tablePlaces(sorting);
  const pages = Math.max(1, Math.ceil(places.length / PAGE_ROWS));
  page.number = Math.min(page.number, pages - 1);
  const start = page.whole ? 0 : page.number * PAGE_ROWS;
  const rows = page.whole ? places : places.slice(start, start + PAGE_ROWS);
  const near = new Set(neighbourNumbers(choice.selected));
  byId("domains").querySelector("thead").replaceChildren(element("tr", {}, ...shown.map(headCell)));
  byId("domains").querySelector("tbody").replaceChildren(...rows.map((place) =>
    element("tr", { class: place === choice.selected ? "chosen" : near.has(place) ? "near" : null }, ...shown.map((column) => bodyCell(column, place)))));
  byId("shown").textContent = number(places.length) + " of " + number(domains.length) + " domains";
  drawPager(pages, places.length, start, rows.length);
}

function drawPager(pages, count, start, rows) {
  const turn = (label, to, possible) => {
    const button = element("button", { type: "button", class: "plain", onclick: () => { page.number = to; drawTable(); byId("domains").closest(".box").scrollTop = 0; } }, label);
    button.disabled = !possible;
    return button;
  };
  const pager = byId("pager");
  pager.hidden = pages < 2;
  pager.replaceChildren(
    turn("First", 0, page.number > 0), turn("Previous", page.number - 1, page.number > 0),
    element("span", { role: "status" }, number(start + 1) + " to " + number(start + rows) + " of " + number(count) + ", page " + number(page.number + 1) + " of " + number(pages)),
    turn("Next", page.number + 1, page.number < pages - 1), turn("Last", pages - 1, page.number < pages - 1));
}

/* To the page on which a domain is that was chosen elsewhere. */
function turnToSelected(change) {
  if (change.selected === undefined || change.selected === null) return;
  const shown = tableColumns();
  const sorting = shown.find((column) => column.key === order.column) || shown[0];
  const rank = tablePlaces(sorting).indexOf(change.selected);
  if (rank >= 0) page.number = Math.floor(rank / PAGE_ROWS);
}

/* Paper has no pages to turn: it gets every row that the filter lets through. */
function wholeTable(whole) {
  if (page.whole === whole) return;
  page.whole = whole;
  drawTable();
}

/* A choice draws the rows anew; the reader's place on the keyboard stays. */
function redrawTable(change) {
  turnToSelected(change);
  const focused = document.activeElement && document.activeElement.closest("#domains tbody") ? document.activeElement.textContent : null;
  drawTable();
  if (focused === null) return;
  const again = [...document.querySelectorAll("#domains tbody button")].find((button) => button.textContent === focused);
  if (again) again.focus({ preventScroll: true });
}

function startTable() {
  byId("filter").addEventListener("input", () => { page.number = 0; drawTable(); });
  listeners.push(redrawTable);
  drawTable();
}
