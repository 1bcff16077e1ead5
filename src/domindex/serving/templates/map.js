/* The map: known domains, and those of the table. Drawn as SVG, with names that cover no other. */
const mapElement = byId("map");
const asked = new Map((answer ? answer.domains : []).map((one) => [one.domain, one]));
const points = known.map((one) => ({ name: one.domain, role: one.role, x: one.x1, y: typeof one.x2 === "number" ? one.x2 : 0, facts: asked.get(one.domain) || one, inTable: asked.has(one.domain) }));
for (const one of asked.values()) {
  if (one.role === "new") points.push({ name: one.domain, role: "new", x: one.x1, y: typeof one.x2 === "number" ? one.x2 : 0, facts: one, inTable: true });
}
const placeOf = new Map(points.map((point, place) => [point.name, place]));
const seen = { selected: null, scale: 1, middle: null };

function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return [low, high];
}
/* The frame holds the family of the fit; what is off the map must not squeeze it, and stands at the edge. */
const family = points.filter((point) => !point.facts.off_map);
const spanX = extent((family.length ? family : points).map((point) => point.x)), spanY = extent((family.length ? family : points).map((point) => point.y));
const wide = spanX[1] - spanX[0] || 1, high = spanY[1] - spanY[0] || 1e-9 * wide;

/* A map that is a thin strip is drawn with one axis longer than the other, and says so. */
const LEAST = 0.34, MOST = 1.2;
const stretch = high / wide < LEAST ? LEAST * wide / high : high / wide > MOST ? MOST * wide / high : 1;
const isLine = high / wide < 1e-6;
const MARGIN = 34;

function frame() {
  const width = Math.max(260, mapElement.clientWidth);
  const height = Math.round(Math.min(560, Math.max(300, 2 * MARGIN + (width - 2 * MARGIN) * (isLine ? LEAST : (high * stretch) / wide))));
  const unit = Math.min((width - 2 * MARGIN) / wide, (height - 2 * MARGIN) / (isLine ? wide : high * stretch)) * seen.scale;
  const middle = seen.middle || [(spanX[0] + spanX[1]) / 2, (spanY[0] + spanY[1]) / 2];
  const up = isLine ? 0 : unit * stretch;
  const within = (value, most) => Math.min(most - 14, Math.max(14, value));
  const spot = (point) => {
    const [left, top] = [width / 2 + (point.x - middle[0]) * unit, height / 2 - (point.y - middle[1]) * up];
    return point.facts.off_map ? [within(left, width), within(top, height)] : [left, top];
  };
  return { width, height, unit, up, middle, spot };
}

function nearestOf(point) {
  return ["nearest1", "nearest2", "nearest3"].map((key) => point.facts[key]).filter((name) => typeof name === "string");
}

function pointClass(point, place) {
  const role = point.role === "source" || point.role === "new" ? point.role : "target";
  const near = seen.selected === null ? null : new Set([points[seen.selected].name, ...nearestOf(points[seen.selected])]);
  const faint = near !== null && !near.has(point.name) && !point.inTable;
  return ["point", role, point.facts.off_map ? "off" : "", faint ? "faint" : "", place === seen.selected ? "chosen" : ""].filter(Boolean).join(" ");
}

function pointShape(point, place, [left, top]) {
  const title = drawn("title", {}, point.name + " (" + point.role + (point.facts.off_map ? ", off the map" : "") + ")");
  const size = points.length > 400 ? 3.5 : 5.5;
  const about = { class: pointClass(point, place), "data-name": point.name };
  let shape;
  if (point.role === "source") shape = drawn("rect", { ...about, x: left - size, y: top - size, width: 2 * size, height: 2 * size });
  else if (point.role === "new") {
    const reach = 8;
    shape = drawn("path", { ...about, d: "M" + left + " " + (top - reach) + "L" + (left + reach) + " " + top + "L" + left + " " + (top + reach) + "L" + (left - reach) + " " + top + "Z" });
  } else shape = drawn("circle", { ...about, cx: left, cy: top, r: size });
  shape.append(title);
  shape.addEventListener("click", () => select(seen.selected === place ? null : place));
  return shape;
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px " + getComputedStyle(document.body).fontFamily;
const NAME_SPOTS = [[1, 0], [0, -1], [0, 1], [-1, 0]];
const MOST_NAMES = 120;

/* Whose name comes first: the chosen, its neighbours, the table's new domains, sources, the rest. */
function nameOrder() {
  const rank = (place) => {
    const point = points[place];
    if (place === seen.selected) return 0;
    if (seen.selected !== null && nearestOf(points[seen.selected]).includes(point.name)) return 1;
    return point.role === "new" ? 2 : point.inTable ? 3 : point.role === "source" ? 4 : 5;
  };
  return [...points.keys()].map((place) => [rank(place), place]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((pair) => pair[1]);
}

/* A name is shown where it covers neither a point nor a name shown before it. */
function drawnNames(now) {
  const spots = points.map(now.spot);
  const inside = spots.map(([left, top]) => left > 0 && left < now.width && top > 0 && top < now.height);
  const dots = spots.map(([left, top]) => ({ left: left - 7, right: left + 7, top: top - 7, bottom: top + 7 })).filter((_, place) => inside[place]);
  const buttons = { left: now.width - 190, right: now.width, top: 0, bottom: 44 };
  const hits = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const taken = [buttons], names = [];
  for (const place of nameOrder()) {
    if (names.length >= MOST_NAMES) break;
    if (!inside[place]) continue;
    const name = shortName(points[place].name, now.width < 480 ? 14 : 22);
    const width = ruler.measureText(name).width + 4;
    const [left, top] = spots[place];
    for (const [across, down] of NAME_SPOTS) {
      const middle = left + across * (12 + width / 2), line = top + down * 17;
      const box = { left: middle - width / 2, right: middle + width / 2, top: line - 8, bottom: line + 8 };
      const free = box.left > 2 && box.right < now.width - 2 && box.top > 2 && box.bottom < now.height - 2
        && !taken.some((other) => hits(box, other)) && !dots.some((dot) => hits(box, dot));
      if (!free) continue;
      taken.push(box);
      names.push(drawn("text", { x: middle, y: line + 4, "text-anchor": "middle", class: "name" }, name));
      break;
    }
  }
  return names;
}

function drawMap() {
  const now = frame();
  const order = [...points.keys()].sort((a, b) => (points[a].role === "new") - (points[b].role === "new"));
  const lines = seen.selected === null ? [] : nearestOf(points[seen.selected]).filter((name) => placeOf.has(name)).map((name) => {
    const [[x1, y1], [x2, y2]] = [points[seen.selected], points[placeOf.get(name)]].map(now.spot);
    return drawn("line", { class: "joined", x1, y1, x2, y2 });
  });
  const rings = points.filter((point) => point.inTable && point.role !== "new").map((point) => { const [cx, cy] = now.spot(point); return drawn("circle", { class: "ring", cx, cy, r: 9.5 }); });
  const svg = drawn("svg", { viewBox: "0 0 " + now.width + " " + now.height, height: now.height, role: "img", "aria-label": "Map of " + counted(points.length, "domain") + (answer ? "; the table below tells of those of your table" : "") },
    ...lines, ...rings, ...order.map((place) => pointShape(points[place], place, now.spot(points[place]))), ...drawnNames(now));
  const before = mapElement.querySelector("svg");
  if (before) before.replaceWith(svg); else mapElement.prepend(svg);
  letDrag(svg, now);
  const note = byId("scale-note");
  note.hidden = isLine || Math.abs(stretch - 1) < 0.01;
  if (!note.hidden) note.textContent = "To keep the domains apart, one axis is drawn " + number(Number(Math.max(stretch, 1 / stretch).toPrecision(2))) + " times as long as the other.";
  mapElement.dataset.ready = "true";
}

/* The mouse moves the map; a finger scrolls the page. */
function letDrag(svg, now) {
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || event.target !== svg) return;
    const start = [event.clientX, event.clientY];
    svg.classList.add("held");
    const move = (later) => {
      seen.middle = [now.middle[0] - (later.clientX - start[0]) / now.unit, now.middle[1] + (now.up ? (later.clientY - start[1]) / now.up : 0)];
      drawMap();
    };
    const end = () => { window.removeEventListener("pointermove", move); window.removeEventListener("pointerup", end); const current = mapElement.querySelector("svg"); if (current) current.classList.remove("held"); };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
  });
}

function zoom(factor) {
  seen.scale = Math.min(200, Math.max(1, seen.scale * factor));
  if (seen.scale === 1) seen.middle = null;
  else if (seen.selected !== null) seen.middle = [points[seen.selected].x, points[seen.selected].y];
  drawMap();
}

function drawKey() {
  const one = (label, ...shape) => element("li", {}, drawn("svg", { width: 16, height: 16, "aria-hidden": "true" }, ...shape), label);
  const diamond = (kind) => drawn("path", { class: "point " + kind, d: "M8 1L15 8L8 15L1 8Z" });
  const key = [one("source: had labels in the fit", drawn("rect", { class: "point source", x: 3, y: 3, width: 10, height: 10 })), one("target", drawn("circle", { class: "point target", cx: 8, cy: 8, r: 5.5 }))];
  if (points.some((point) => point.inTable && point.role !== "new")) key.push(one("in your table", drawn("circle", { class: "ring", cx: 8, cy: 8, r: 6.5 })));
  if (points.some((point) => point.role === "new" && !point.facts.off_map)) key.push(one("new in your table", diamond("new")));
  if (points.some((point) => point.facts.off_map)) key.push(one("off the map: unlike all known domains; at the edge where it lies outside", diamond("new off")));
  byId("key").replaceChildren(...key);
}

function drawSelected() {
  const panel = byId("selected");
  if (seen.selected === null) {
    panel.replaceChildren(element("h3", {}, "No domain selected"), element("p", { class: "small" }, "Select a point to see its nearest domains and what to expect there. The mouse moves the map."));
    return;
  }
  const point = points[seen.selected], facts = point.facts;
  const rows = [["role", point.role]];
  if (typeof facts.rows === "number") rows.push(["rows", number(facts.rows)]);
  rows.push(["to a source", number(facts.distance)]);
  if (typeof facts.expected === "number") rows.push([forecastName(), forecastNumber(facts.expected)], ["80 % interval", intervalText(facts)]);
  panel.replaceChildren(element("h3", {}, point.name),
    facts.off_map ? element("p", {}, element("span", { class: "flag" }, "off the map"), " Nothing known is like it: do not rely on what is expected here.") : "",
    element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("p", {}, "Nearest on the map"),
    element("div", { class: "chips" }, ...nearestOf(point).map((name) => element("button", { type: "button", onclick: () => select(placeOf.has(name) ? placeOf.get(name) : null) }, name))),
    element("button", { type: "button", class: "plain", onclick: () => select(null) }, "Clear selection"));
}

function select(place) {
  seen.selected = place;
  drawMap();
  drawSelected();
  markChosen();
}

function startMap() {
  byId("map-words").textContent = "Each point is a domain, squares are sources. Domains that lie close have similar data; only distances mean something, not directions." + (answer ? " Rings and diamonds are the domains of your table." : " Domains of a table that you predict are placed here.");
  byId("nearer").addEventListener("click", () => zoom(1.6));
  byId("farther").addEventListener("click", () => zoom(1 / 1.6));
  byId("whole").addEventListener("click", () => { seen.scale = 1; seen.middle = null; drawMap(); });
  drawKey();
  drawSelected();
  drawMap();
  let waiting = null;
  window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawMap, 100); });
}
