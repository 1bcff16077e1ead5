/* Elements and numbers. All text goes in as text, never as markup. */
const { run, map: known, answer } = JSON.parse(document.getElementById("data").textContent);

function byId(id) { return document.getElementById(id); }

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === true || value === false) return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  const text = size >= 1000 ? Math.round(value).toLocaleString("en")
    : size !== 0 && size < 0.001 ? value.toExponential(1)
    : String(Number(value.toPrecision(3)));
  return text.replace("-", "−");
}

function counted(count, one, many) { return number(count) + " " + (count === 1 ? one : many || one + "s"); }

function shortName(name, most) { return name.length > most ? name.slice(0, most - 1) + "…" : name; }

/* What to expect is a share of rows for classes, and an error in the target's unit for values. */
function forecastName() { return run.task === "classification" ? "expected accuracy" : "expected error"; }
function forecastNumber(value) { return run.task === "classification" ? (100 * value).toFixed(1) + " %" : number(value); }
function forecastText(one) {
  if (typeof one.expected !== "number") return "–";
  return forecastNumber(one.expected) + " (" + forecastNumber(one.low) + " to " + forecastNumber(one.high) + ")";
}

function intervalText(one) {
  if (run.task !== "classification") return number(one.low) + " to " + number(one.high);
  return (100 * one.low).toFixed(0) + " to " + (100 * one.high).toFixed(0) + " %";
}
