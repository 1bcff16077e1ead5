/* Elements, numbers, colours. All text goes in as text, never as markup. */
const report = JSON.parse(document.getElementById("data").textContent);

/* The page holds domains by columns, and shares as letters; here they become records again. */
const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
function sharesOf(letters) { return [...letters].map((letter) => LETTERS.indexOf(letter) / (LETTERS.length - 1)); }

function unpacked(packed) {
  const of = (name, place) => (packed[name] === null ? null : packed[name][place]);
  return packed.name.map((name, place) => ({
    name, role: packed.role[place] === "s" ? "source" : "target", rows: packed.rows[place],
    coordinates: packed.coordinates[place], deviations: packed.deviations[place], neighbours: packed.neighbours[place],
    distance_to_source: packed.distance_to_source[place], held_out_score: of("held_out_score", place), angle: of("angle", place), picture: of("picture", place),
    forecast: packed.forecast[place] && { expected: packed.forecast[place][0], low: packed.forecast[place][1], high: packed.forecast[place][2], two_ways: packed.forecast[place][3], reason: packed.forecast[place][4] || "" },
    differences: packed.differences[place].map(([column, neighbours, sources, chance, both]) => ({ column, neighbours: neighbours / 100, sources: sources / 100, chance: chance / 100,
      shares: both.slice(0, both.length / 2), around: both.slice(both.length / 2) })),
    missing: packed.missing[place].map(([column, share]) => ({ column, share })),
  }));
}
const domains = unpacked(report.domains);
/* A map alone has no sources, and nothing lies near or far from them. */
const HAS_SOURCES = domains.some((domain) => domain.role === "source");
const MANY = 1500; /* domains beyond which a map shows how many there are, not each one */

/* "etienne" finds "Étienne", and "strasse" "Straße". */
function plainText(text) {
  return String(text).normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/ß/g, "ss").replace(/ø/g, "o").replace(/ł/g, "l").replace(/æ/g, "ae").replace(/œ/g, "oe");
}
const searched = domains.map((domain) => plainText(domain.name));

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/* What most readers can do without: it opens where it is asked for. */
function foldedPart(title, ...children) { return element("details", {}, element("summary", {}, title), ...children); }

/* Beyond what held-out sources showed: a sign beside its name. */
function isBeyond(domain) { return domain.forecast !== null && domain.forecast.reason !== ""; }
function markedName(domain) { return domain.name + (isBeyond(domain) ? " ⚠" : ""); }

function byId(id) { return document.getElementById(id); }

/* Plotly reads some markup in its texts; here it gets none. */
function plotlyText(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  const text = size >= 1000 ? Math.round(value).toLocaleString("en")
    : size !== 0 && size < 0.001 ? value.toExponential(1)
    : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

function score(value) {
  if (value === null || value === undefined) return "–";
  return isShare() ? (100 * value).toFixed(1) + " %" : number(value);
}

/* Forecasts are shares or errors whether or not anything was held out. */
function sharesExpected() { return report.task === "classification"; }

function forecastName() { return sharesExpected() ? "accuracy" : "root mean squared error"; }

function forecastNumber(value) { return sharesExpected() ? (100 * value).toFixed(1) + " %" : number(value); }

function expectedText(forecast) {
  if (!forecast) return "–";
  return forecastNumber(forecast.expected) + " (" + forecastNumber(forecast.low) + " to " + forecastNumber(forecast.high) + ")";
}

/* The same in a cell of a table, which may break before the interval and nowhere else. */
function expectedCell(forecast) {
  if (!forecast) return "–";
  const [expected, ...interval] = expectedText(forecast).split(" (");
  return element("span", {}, element("span", { class: "whole" }, expected), " ", element("span", { class: "whole" }, "(" + interval.join(" (")));
}

function isShare() { return report.held_out !== null && report.held_out.score_name === "accuracy"; }

function percent(share, digits) { return (100 * share).toFixed(digits === undefined ? 0 : digits) + " %"; }

/* Cut in the middle: names that begin alike often differ in how they end. */
function shortName(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const end = Math.floor((most - 1) * 0.45);
  return letters.slice(0, most - 1 - end).join("").trimEnd() + "…" + letters.slice(letters.length - end).join("").trimStart();
}

/* The least and the largest of any number of numbers; spreading many into a call would overflow. */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high];
}

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function spaced(name) { return String(name).replace(/_/g, " "); }

function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* Pictures are in this file or nowhere: any other address is not followed. */
function pictureOf(domain) {
  const address = domain.picture;
  return typeof address === "string" && address.startsWith("data:image/png;base64,") ? address : null;
}

/* Okabe and Ito's colours; the last is for all that is left over. */
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#808080"];

function plotLayout(more) {
  const axis = { gridcolor: theme("line"), zerolinecolor: theme("line"), linecolor: theme("line"), automargin: document.documentElement.clientWidth >= 560 };
  const family = getComputedStyle(document.body).fontFamily;
  return Object.assign({
    paper_bgcolor: theme("surface"), plot_bgcolor: theme("surface"),
    font: { color: theme("text"), family, size: 12 },
    hoverlabel: { bgcolor: theme("page"), bordercolor: theme("muted"), font: { color: theme("text"), family, size: 13 }, align: "left", namelength: -1 },
    showlegend: false, autosize: true,
  }, more, { xaxis: Object.assign({}, axis, more.xaxis), yaxis: Object.assign({}, axis, more.yaxis) });
}

const PLOT_SETTINGS = { responsive: true, displaylogo: false, displayModeBar: true, scrollZoom: false,
  modeBarButtons: [["pan2d", "zoom2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] };

/* What the reader has chosen; whoever draws from it listens. */
const choice = { selected: null, column: "own:role", uncertainty: true, names: true, pictures: true };
const listeners = [];
function choose(change) {
  Object.assign(choice, change);
  listeners.forEach((listener) => listener(change));
}

/* What the map can be coloured by. Keys keep our columns apart from those of the data. */
const ROLE = "own:role", ROWS = "own:rows", DISTANCE = "own:distance", HELD_OUT = "own:held-out", EXPECTED = "own:expected";
const columns = new Map([
  [ROLE, { label: "role", values: domains.map((domain) => domain.role) }],
  [ROWS, { label: "rows", values: domains.map((domain) => domain.rows) }],
]);
if (HAS_SOURCES) columns.set(DISTANCE, { label: "distance to the nearest source", values: domains.map((domain) => domain.distance_to_source) });
if (report.held_out) columns.set(HELD_OUT, { label: "held-out " + report.held_out.score_name, values: domains.map((domain) => domain.held_out_score) });
if (domains.some((domain) => domain.forecast)) columns.set(EXPECTED, { label: "expected " + forecastName(), values: domains.map((domain) => (domain.forecast ? domain.forecast.expected : null)) });
for (const [name, values] of Object.entries(report.columns)) columns.set("data:" + name, { label: name, values });

function fromData(key) { return key.startsWith("data:"); }
