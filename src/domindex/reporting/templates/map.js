/* The map: points, ellipses, names without collisions, neighbours of the chosen domain. */
const mapElement = byId("map");

function x(domain) { return domain.coordinates[0]; }
function y(domain) { return domain.coordinates.length > 1 ? domain.coordinates[1] : 0; }

function closes() { return domains.every((domain) => typeof domain.angle === "number"); }
function degrees(angle) { return Math.round((angle * 180) / Math.PI).toString().replace("-", "−") + "°"; }

function neighbourNumbers(chosen) {
  return chosen === null ? [] : domains[chosen].neighbours.map((name) => byName.get(name));
}

/* How domains are coloured: a scale for numbers, groups for texts, and a key to them. */
function painting() {
  const values = columns.get(choice.column).values;
  if (choice.column === ROLE) {
    const colour = { source: theme("source"), target: theme("target") };
    return { colours: domains.map((domain) => colour[domain.role]), scale: null,
      key: [["source", colour.source, true], ["target", colour.target, false]] };
  }
  const shapes = [["source", theme("muted"), true], ["target", theme("muted"), false]];
  if (values.every((value) => value === null || typeof value === "number")) {
    const known = values.filter((value) => value !== null);
    const scale = known.length ? [Math.min(...known), Math.max(...known)] : null;
    const gaps = known.length < values.length ? [["no value", "none", false]] : [];
    return { values, scale, colours: null, key: shapes.concat(gaps) };
  }
  const counts = new Map();
  values.forEach((value) => counts.set(value, (counts.get(value) || 0) + 1));
  const groups = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const rest = groups.length > PALETTE.length ? PALETTE.length - 1 : groups.length;
  const colourOf = new Map(groups.map((group, place) => [group, PALETTE[Math.min(place, rest)] || PALETTE[7]]));
  const key = groups.slice(0, rest).map((group) => [group === null ? "no value" : String(group), colourOf.get(group), null]);
  if (rest < groups.length) key.push(["others", PALETTE[7], null]);
  return { colours: values.map((value) => colourOf.get(value)), scale: null, key: key.concat(shapes) };
}

function hoverText(domain, place) {
  const lines = ["<b>" + plotlyText(domain.name) + "</b>", domain.role + ", " + number(domain.rows) + " rows"];
  if (report.held_out) {
    lines.push(domain.held_out_score === null ? "no held-out score"
      : plotlyText(report.held_out.score_name) + " when held out: " + score(domain.held_out_score));
  }
  lines.push("neighbours: " + domain.neighbours.map(plotlyText).join(", "));
  if (fromData(choice.column) || choice.column === DISTANCE) {
    const column = columns.get(choice.column);
    lines.push(plotlyText(column.label) + ": " + plotlyText(number(column.values[place])));
  }
  return lines.join("<br>");
}

function opacities() {
  if (choice.selected === null) return domains.map(() => 1);
  const near = new Set([choice.selected, ...neighbourNumbers(choice.selected)]);
  return domains.map((_, place) => (near.has(place) ? 1 : 0.25));
}

function pointTraces(paint) {
  const opacity = opacities();
  const hasValue = (place) => paint.colours !== null || paint.values[place] !== null;
  const traces = [];
  for (const [role, symbol] of [["target", "circle"], ["source", "square"]]) {
    for (const known of [false, true]) {
      const members = domains.map((_, place) => place).filter((place) => domains[place].role === role && hasValue(place) === known);
      if (!members.length) continue;
      const marker = { symbol, size: members.map((place) => (place === choice.selected ? 17 : 12)),
        opacity: members.map((place) => opacity[place]),
        line: { width: members.map((place) => (place === choice.selected ? 3 : 1)),
          color: members.map((place) => (place === choice.selected ? theme("text") : theme("dot-edge"))) } };
      if (!known) Object.assign(marker, { color: theme("muted"), symbol: symbol + "-open" });
      else if (paint.colours) marker.color = members.map((place) => paint.colours[place]);
      else Object.assign(marker, { color: members.map((place) => paint.values[place]), coloraxis: "coloraxis" });
      traces.push({ type: "scatter", mode: "markers", marker, name: role, hoverinfo: "text", customdata: members,
        x: members.map((place) => x(domains[place])), y: members.map((place) => y(domains[place])),
        hovertext: members.map((place) => hoverText(domains[place], place)) });
    }
  }
  return traces;
}

function neighbourTrace() {
  const lines = { x: [], y: [] };
  for (const near of neighbourNumbers(choice.selected)) {
    lines.x.push(x(domains[choice.selected]), x(domains[near]), null);
    lines.y.push(y(domains[choice.selected]), y(domains[near]), null);
  }
  return Object.assign(lines, { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: theme("muted"), width: 1.5 } });
}

/* Once around the ring of a map that closes, in the order of the angles. */
function ringTrace() {
  const line = { x: [], y: [], type: "scatter", mode: "lines", name: "ring", hoverinfo: "skip", line: { color: theme("muted"), width: 1.5, dash: "dash" } };
  if (!closes()) return line;
  const around = [...domains].sort((a, b) => a.angle - b.angle);
  for (const domain of [...around, around[0]]) { line.x.push(x(domain)); line.y.push(y(domain)); }
  return line;
}

function ellipses() {
  if (!choice.uncertainty || domains.length > 300) return [];
  return domains.map((domain) => {
    const [width, height] = [domain.deviations[0], domain.deviations.length > 1 ? domain.deviations[1] : 0];
    return { type: "circle", layer: "below", fillcolor: theme("ellipse"), line: { width: 0 },
      x0: x(domain) - width, x1: x(domain) + width, y0: y(domain) - height, y1: y(domain) + height };
  });
}

/* As wide as neighbours usually lie apart, within reason, so that a crowded map stays a map. */
function pictureSide() {
  const span = Math.max(...[x, y].map((way) => Math.max(...domains.map(way)) - Math.min(...domains.map(way)))) || 1;
  const gaps = domains.map((domain) => Math.min(...domains.filter((other) => other !== domain).map((other) => Math.hypot(x(domain) - x(other), y(domain) - y(other)))));
  const usual = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  return Math.min(0.12 * span, Math.max(0.06 * span, usual));
}

/* Above its point each, so that the point is seen. */
function pictures() {
  if (!choice.pictures) return [];
  const side = pictureSide(), opacity = opacities();
  return domains.flatMap((domain, place) => (pictureOf(domain) === null ? [] : [{ source: pictureOf(domain), xref: "x", yref: "y",
    x: x(domain), y: y(domain), sizex: side, sizey: side, xanchor: "center", yanchor: "bottom", layer: "below", opacity: opacity[place] }]));
}

/* Nothing that is seen, but room for the pictures: a map's range comes from its lines and points. */
function pictureRoom() {
  const side = pictureSide(), room = { x: [], y: [] };
  for (const domain of choice.pictures ? domains.filter((one) => pictureOf(one) !== null) : []) {
    room.x.push(x(domain) - side / 2, x(domain) + side / 2, null);
    room.y.push(y(domain), y(domain) + side, null);
  }
  return Object.assign(room, { type: "scatter", mode: "lines", hoverinfo: "skip", opacity: 0 });
}

function isNarrow() { return mapElement.clientWidth < 560; }

/* A map that is long and flat, as one of few directions is, needs no height. */
function mapHeight(paint) {
  const span = (way, deviation) => Math.max(...domains.map((domain) => way(domain) + deviation(domain))) - Math.min(...domains.map((domain) => way(domain) - deviation(domain)));
  const [width, height] = [span(x, (domain) => domain.deviations[0]), span(y, (domain) => (domain.deviations.length > 1 ? domain.deviations[1] : 0))];
  const wanted = 110 + (mapElement.clientWidth - 80) * (width > 0 ? height / width : 1) * 1.25;
  const bar = paint.scale && isNarrow() ? 42 : 0;
  return bar + Math.round(Math.min(540, Math.max(300, wanted)));
}

function mapLayout(paint) {
  const narrow = isNarrow();
  const layout = plotLayout({ dragmode: narrow ? false : "pan", hovermode: "closest", uirevision: "kept", shapes: ellipses(), images: pictures(),
    margin: { l: 56, r: 20, t: 34, b: 58 },
    xaxis: { title: { text: "domain index 1", standoff: 8 }, zeroline: false },
    yaxis: { title: { text: "domain index 2", standoff: 4 }, zeroline: false, scaleanchor: "x", scaleratio: 1 } });
  layout.xaxis.showgrid = layout.yaxis.showgrid = !layout.images.length;
  if (paint.scale) {
    layout.coloraxis = { cmin: paint.scale[0], cmax: paint.scale[1] > paint.scale[0] ? paint.scale[1] : paint.scale[0] + 1,
      colorscale: "Viridis", colorbar: { thickness: 12, outlinewidth: 0, title: { text: plotlyText(columns.get(choice.column).label), side: narrow ? "top" : "right" } } };
    if (narrow) {
      Object.assign(layout.coloraxis.colorbar, { orientation: "h", yref: "container", y: 0.02, yanchor: "bottom", thickness: 10, title: { text: "" } });
      layout.margin.b = 100;
    }
  }
  return layout;
}

const NAME_PLACES = [
  { x: "left", y: "middle", across: 1, up: 0 }, { x: "center", y: "bottom", across: 0, up: 0.7 },
  { x: "center", y: "top", across: 0, up: -0.7 }, { x: "right", y: "middle", across: -1, up: 0 },
];

function nameBox([left, top], spot, width) {
  const middle = left + spot.across * (7 + width / 2);
  const height = top - Math.sign(spot.up) * 14;
  return { left: middle - width / 2, right: middle + width / 2, top: height - 7, bottom: height + 7 };
}

/* A name is shown where it covers neither a point nor a name shown before it. */
function placeNames() {
  const full = mapElement._fullLayout;
  const pixels = (axis, value, length) => ((value - axis.range[0]) / (axis.range[1] - axis.range[0])) * length;
  const spots = domains.map((domain) => [pixels(full.xaxis, x(domain), full._size.w), full._size.h - pixels(full.yaxis, y(domain), full._size.h)]);
  const dots = spots.map(([left, top]) => ({ left: left - 6, right: left + 6, top: top - 6, bottom: top + 6 }));
  const hits = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const opacity = opacities();
  const first = [choice.selected, ...neighbourNumbers(choice.selected)].filter((place) => place !== null);
  const order = [...new Set([...first, ...domains.keys()])];
  const shown = [];
  const annotations = [];
  for (const place of choice.names ? order : []) {
    const name = domains[place].name.length > 18 ? domains[place].name.slice(0, 17) + "…" : domains[place].name;
    const free = NAME_PLACES.map((spot) => ({ spot, box: nameBox(spots[place], spot, 6.4 * name.length + 4) })).find(({ box }) =>
      box.left > -40 && box.right < full._size.w + 18 && !shown.some((other) => hits(box, other)) && !dots.some((dot, other) => other !== place && hits(box, dot)));
    if (!free) continue;
    shown.push(free.box);
    const away = place === choice.selected ? 10 : 6;
    annotations.push({ x: x(domains[place]), y: y(domains[place]), text: plotlyText(name), showarrow: false,
      xanchor: free.spot.x, xshift: away * free.spot.across, yanchor: free.spot.y, yshift: away * free.spot.up, opacity: opacity[place] });
  }
  return Plotly.relayout(mapElement, { annotations });
}

function drawKey(key) {
  byId("key").replaceChildren(...key.map(([label, colour, square]) => {
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    mark.setAttribute("width", "12"); mark.setAttribute("height", "12"); mark.setAttribute("aria-hidden", "true");
    const shape = document.createElementNS("http://www.w3.org/2000/svg", square === true ? "rect" : "circle");
    const size = square === true ? { x: 1, y: 1, width: 10, height: 10 } : { cx: 6, cy: 6, r: 5 };
    Object.entries(Object.assign(size, { fill: colour, stroke: colour === "none" ? theme("muted") : "none" })).forEach(([name, value]) => shape.setAttribute(name, value));
    mark.append(shape);
    return element("li", {}, mark, label);
  }));
}

function drawMap() {
  const paint = painting();
  const traces = [pictureRoom(), ringTrace(), neighbourTrace(), ...pointTraces(paint)];
  mapElement.style.height = mapHeight(paint) + "px";
  drawKey(paint.key);
  return Plotly.react(mapElement, traces, mapLayout(paint), PLOT_SETTINGS).then(placeNames);
}

function drawSelected() {
  const panel = byId("selected");
  if (choice.selected === null) {
    panel.replaceChildren(element("h3", {}, "No domain selected"), element("p", { class: "small" }, "Ellipses show one deviation of uncertainty. The buttons above the map move and zoom it."));
    return;
  }
  const domain = domains[choice.selected];
  const facts = [["role", domain.role], ["rows", number(domain.rows)],
    ["index", domain.coordinates.map(number).join(", ")], ["uncertainty", "± " + domain.deviations.map((value) => number(Number(value.toPrecision(2)))).join(", ")],
    ["to a source", number(domain.distance_to_source)]];
  if (closes()) facts.splice(3, 0, ["angle", degrees(domain.angle)]);
  if (domain.held_out_score !== null) facts.push(["held out", score(domain.held_out_score)]);
  if (domain.forecast) facts.push(["expected " + forecastName(), expectedText(domain.forecast)]);
  if (domain.forecast && typeof domain.forecast.two_ways === "number") facts.push(["two ways agree", (100 * domain.forecast.two_ways).toFixed(0) + " %"]);
  if (fromData(choice.column)) facts.push([columns.get(choice.column).label, number(columns.get(choice.column).values[choice.selected])]);
  const picture = pictureOf(domain);
  panel.replaceChildren(
    element("h3", {}, domain.name),
    picture === null ? "" : element("img", { class: "picture", src: picture, alt: "A typical row of " + domain.name }),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("p", {}, "Nearest on the map"),
    element("div", { class: "chips" }, ...domain.neighbours.map((name) => element("button", { type: "button", onclick: () => choose({ selected: byName.get(name) }) }, name))),
    element("button", { type: "button", class: "plain", onclick: () => choose({ selected: null }) }, "Clear selection"));
}

function startMap() {
  const select = byId("colour");
  select.append(...[...columns].map(([key, column]) => element("option", { value: key }, column.label)));
  select.value = choice.column;
  select.addEventListener("change", () => choose({ column: select.value }));
  byId("with-pictures").hidden = !domains.some((domain) => pictureOf(domain) !== null);
  for (const name of ["uncertainty", "names", "pictures"]) {
    byId(name).addEventListener("change", (event) => choose({ [name]: event.target.checked }));
  }
  drawSelected();
  drawMap().then(() => {
    mapElement.on("plotly_click", (event) => {
      const place = event.points[0].customdata;
      if (place !== undefined) choose({ selected: place === choice.selected ? null : place });
    });
    mapElement.on("plotly_relayout", (change) => { if (!("annotations" in change)) placeNames(); });
    mapElement.dataset.ready = "true";
  });
  listeners.push(drawMap, drawSelected);
}
