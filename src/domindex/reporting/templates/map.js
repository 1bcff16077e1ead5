/* The map: points or density, ellipses, names without collisions, neighbours of the chosen domain. */
const mapElement = byId("map");

function x(domain) { return domain.coordinates[0]; }
function y(domain) { return domain.coordinates.length > 1 ? domain.coordinates[1] : 0; }

/* A place of a few rows is uncertain: one far out alone does not decide how large all others are drawn. */
const FEW_ROWS = 10;
function withinView() {
  const sure = domains.filter((domain) => domain.rows >= FEW_ROWS);
  if (sure.length < domains.length / 2) return domains;
  const near = [x, y].map((way) => { const [low, high] = extent(sure.map(way)); return [low - (high - low) / 2, high + (high - low) / 2]; });
  return domains.filter((domain) => domain.rows >= FEW_ROWS || [x, y].every((way, axis) => way(domain) >= near[axis][0] && way(domain) <= near[axis][1]));
}
const viewed = withinView();
const outside = domains.filter((domain) => !viewed.includes(domain));
const spanOf = { x: extent(viewed.map(x)), y: extent(viewed.map(y)) };

function closes() { return domains.every((domain) => typeof domain.angle === "number"); }
function degrees(angle) { return Math.round((angle * 180) / Math.PI).toString().replace("-", "−") + "°"; }

function neighbourNumbers(chosen) { return chosen === null ? [] : domains[chosen].neighbours; }

/* What part of the map is seen, as far as Plotly has drawn one. */
function view() {
  const full = mapElement._fullLayout;
  if (!full || !full.xaxis) return { x: spanOf.x, y: spanOf.y };
  return { x: full.xaxis.range, y: full.yaxis.range };
}

function isSeen(seen, domain) {
  return x(domain) >= seen.x[0] && x(domain) <= seen.x[1] && y(domain) >= seen.y[0] && y(domain) <= seen.y[1];
}

/* Numbers of the domains that are drawn as points: all, or of very many those in view, if they are few. */
function pointPlaces() {
  const every = [...domains.keys()];
  if (domains.length <= MANY) return every;
  const seen = view();
  const inside = every.filter((place) => isSeen(seen, domains[place]));
  return inside.length <= MANY ? inside : null;
}

/* Where density is shown: sources, thinned evenly, and what was chosen. */
function markedPlaces() {
  const sources = [...domains.keys()].filter((place) => domains[place].role === "source");
  const step = Math.max(1, Math.ceil(sources.length / 400));
  const near = choice.selected === null ? [] : [...neighbourNumbers(choice.selected), choice.selected];
  return [...new Set([...sources.filter((_, rank) => rank % step === 0), ...near])];
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
    const scale = known.length ? extent(known) : null;
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
  if (domain.forecast) lines.push("expected " + forecastName() + ": " + expectedText(domain.forecast));
  else if (domain.held_out_score !== null) lines.push(plotlyText(report.held_out.score_name) + " when held out: " + score(domain.held_out_score));
  lines.push("neighbours: " + domain.neighbours.map((near) => plotlyText(shortName(domains[near].name, 30))).join(", "));
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

function pointSize(count) { return domains.length > MANY ? 6 : count > 400 ? 7 : count > 120 ? 9 : 12; }

function pointTraces(paint, places) {
  const opacity = opacities();
  const size = pointSize(places.length);
  const hasValue = (place) => paint.colours !== null || paint.values[place] !== null;
  const traces = [];
  for (const [role, symbol] of [["target", "circle"], ["source", "square"]]) {
    for (const known of [false, true]) {
      const members = places.filter((place) => domains[place].role === role && hasValue(place) === known);
      if (!members.length) continue;
      const marker = { symbol, size: members.map((place) => (place === choice.selected ? size + 5 : role === "source" ? size + 1 : size)),
        opacity: members.map((place) => opacity[place]),
        line: { width: members.map((place) => (place === choice.selected ? 3 : 1)),
          color: members.map((place) => (place === choice.selected || (role === "source" && choice.column !== ROLE) ? theme("text") : theme("dot-edge"))) } };
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

/* How many domains there are in every part of the view; by a column of numbers, their mean. */
function densityTrace(paint) {
  const seen = view();
  const [across, up] = isNarrow() ? [44, 44] : [96, 60];
  const [width, height] = [seen.x[1] - seen.x[0] || 1, seen.y[1] - seen.y[0] || 1];
  const counts = Array.from({ length: up }, () => new Array(across).fill(0));
  const sums = Array.from({ length: up }, () => new Array(across).fill(0));
  const means = paint.colours === null;
  domains.forEach((domain, place) => {
    if (!isSeen(seen, domain) || (means && paint.values[place] === null)) return;
    const column = Math.min(across - 1, Math.floor((across * (x(domain) - seen.x[0])) / width));
    const row = Math.min(up - 1, Math.floor((up * (y(domain) - seen.y[0])) / height));
    counts[row][column] += 1;
    if (means) sums[row][column] += paint.values[place];
  });
  const z = counts.map((row, r) => row.map((count, c) => (count === 0 ? null : means ? sums[r][c] / count : Math.log10(count + 0.5))));
  const what = means ? plotlyText(columns.get(choice.column).label) + ", mean: " : "";
  const text = counts.map((row, r) => row.map((count, c) => (count === 0 ? "" : count + (count === 1 ? " domain" : " domains") + (means ? "<br>" + what + number(z[r][c]) : "") + "<br>select to come nearer")));
  const trace = { type: "heatmap", z, x0: seen.x[0] + width / across / 2, dx: width / across, y0: seen.y[0] + height / up / 2, dy: height / up, hoverinfo: "text", text, name: "density", hoverongaps: false };
  if (means) return Object.assign(trace, { coloraxis: "coloraxis" });
  return Object.assign(trace, { showscale: false, colorscale: [[0, theme("density-low")], [1, theme("density-high")]] });
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
  if (!closes() || domains.length > MANY) return line;
  const around = [...domains].sort((a, b) => a.angle - b.angle);
  for (const domain of [...around, around[0]]) { line.x.push(x(domain)); line.y.push(y(domain)); }
  return line;
}

function deviation(domain, way) { return domain.deviations.length > way ? domain.deviations[way] : 0; }

function ellipses() {
  if (!choice.uncertainty || domains.length > 300) return [];
  const area = (spanOf.x[1] - spanOf.x[0] || 1) * (spanOf.y[1] - spanOf.y[0] || 1);
  const covered = domains.reduce((sum, domain) => sum + Math.PI * deviation(domain, 0) * (deviation(domain, 1) || deviation(domain, 0)), 0) / area;
  const opacity = Math.min(1, Math.max(0.04, 0.8 / covered)); /* many over one another stay a light shade */
  return domains.map((domain) => ({ type: "circle", layer: "below", fillcolor: theme("ellipse"), opacity, line: { width: 0 },
    x0: x(domain) - deviation(domain, 0), x1: x(domain) + deviation(domain, 0), y0: y(domain) - deviation(domain, 1), y1: y(domain) + deviation(domain, 1) }));
}

/* As wide as neighbours usually lie apart, within reason, so that a crowded map stays a map. */
function pictureSide() {
  const span = Math.max(spanOf.x[1] - spanOf.x[0], spanOf.y[1] - spanOf.y[0]) || 1;
  const gaps = domains.map((domain) => (domain.neighbours.length ? Math.hypot(x(domain) - x(domains[domain.neighbours[0]]), y(domain) - y(domains[domain.neighbours[0]])) : span));
  const usual = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
  return Math.min(0.12 * span, Math.max(0.06 * span, usual));
}

/* Above its point each, so that the point is seen. */
function pictures() {
  if (!choice.pictures || !domains.some((domain) => pictureOf(domain) !== null)) return [];
  const side = pictureSide(), opacity = opacities();
  return domains.flatMap((domain, place) => (pictureOf(domain) === null ? [] : [{ source: pictureOf(domain), xref: "x", yref: "y",
    x: x(domain), y: y(domain), sizex: side, sizey: side, xanchor: "center", yanchor: "bottom", layer: "below", opacity: opacity[place] }]));
}

/* Nothing that is seen, but room for the pictures: a map's range comes from its lines and points. */
function pictureRoom() {
  const room = { x: [], y: [] };
  const shown = choice.pictures ? domains.filter((one) => pictureOf(one) !== null) : [];
  const side = shown.length ? pictureSide() : 0;
  for (const domain of shown) {
    room.x.push(x(domain) - side / 2, x(domain) + side / 2, null);
    room.y.push(y(domain), y(domain) + side, null);
  }
  return Object.assign(room, { type: "scatter", mode: "lines", hoverinfo: "skip", opacity: 0 });
}

function isNarrow() { return mapElement.clientWidth < 560; }

/* Height to width of what is drawn, points with their ellipses. */
function heightToWidth() {
  const widen = (way, axis) => { const [low, high] = extent(viewed.flatMap((domain) => [way(domain) - deviation(domain, axis), way(domain) + deviation(domain, axis)])); return high - low; };
  const [width, height] = [widen(x, 0), widen(y, 1)];
  return width > 0 ? height / width : 1;
}

const PROPORTION = heightToWidth();

/* A map that is a thin strip is drawn with one axis longer than the other, and says so. */
const LEAST_PROPORTION = 0.34, LEAST_ON_A_PHONE = 0.7, MOST_PROPORTION = 2.2;
function stretch() {
  const natural = PROPORTION;
  if (natural <= 0) return 1;
  const least = isNarrow() ? LEAST_ON_A_PHONE : LEAST_PROPORTION;
  if (natural < least) return least / natural;
  return natural > MOST_PROPORTION ? MOST_PROPORTION / natural : 1;
}

function mapHeight(paint) {
  const wanted = 110 + (mapElement.clientWidth - 80) * PROPORTION * stretch() * 1.1;
  const bar = paint.scale && isNarrow() ? 42 : 0;
  return bar + Math.round(Math.min(600, Math.max(isNarrow() ? 330 : 380, wanted)));
}

function drawScaleNote() {
  const factor = stretch();
  const note = byId("scale-note");
  const words = [];
  if (Math.abs(factor - 1) >= 0.01) words.push(factor > 1 ? "To keep the domains apart, index 2 is drawn " + number(Number(factor.toPrecision(2))) + " times as long as index 1." : "To fit the page, index 2 is drawn " + number(Number((1 / factor).toPrecision(2))) + " times as short as index 1.");
  if (outside.length) words.push("Beyond the edge, with fewer than " + FEW_ROWS + " rows: " + outside.slice(0, 5).map((domain) => domain.name + " at " + number(x(domain)) + ", " + number(y(domain))).join("; ") + (outside.length > 5 ? " and " + (outside.length - 5) + " more" : "") + ". Zoom out to see them.");
  note.hidden = !words.length;
  note.textContent = words.join(" ");
}

function mapLayout(paint) {
  const narrow = isNarrow();
  const layout = plotLayout({ dragmode: narrow ? false : "pan", hovermode: "closest", uirevision: "kept", shapes: ellipses(), images: pictures(),
    margin: { l: narrow ? 54 : 56, r: narrow ? 10 : 20, t: 34, b: narrow ? 50 : 58 },
    xaxis: { title: { text: "domain index 1", standoff: 8 }, zeroline: false },
    yaxis: { title: { text: "domain index 2", standoff: 4 }, zeroline: false, scaleanchor: "x", scaleratio: stretch() } });
  if (narrow) for (const axis of [layout.xaxis, layout.yaxis]) Object.assign(axis, { nticks: 5, title: Object.assign({}, axis.title, { font: { size: 11 } }) });
  if (domains.length > MANY || outside.length) {
    for (const [axis, span] of [[layout.xaxis, spanOf.x], [layout.yaxis, spanOf.y]]) {
      const room = 0.04 * (span[1] - span[0] || 1);
      axis.range = [span[0] - room, span[1] + room];
    }
  }
  layout.xaxis.showgrid = layout.yaxis.showgrid = !layout.images.length;
  if (paint.scale) {
    layout.coloraxis = { cmin: paint.scale[0], cmax: paint.scale[1] > paint.scale[0] ? paint.scale[1] : paint.scale[0] + 1,
      colorscale: "Viridis", colorbar: { thickness: 12, outlinewidth: 0, title: { text: plotlyText(shortName(columns.get(choice.column).label, 40)), side: narrow ? "top" : "right" } } };
    if (narrow) {
      Object.assign(layout.coloraxis.colorbar, { orientation: "h", yref: "container", y: 0.02, yanchor: "bottom", thickness: 10, title: { text: "" } });
      layout.margin.b = 100;
    }
  }
  return layout;
}

/* Beside its point; where that is taken, further off in eight directions, with a line to the point. */
const NAME_PLACES = [
  { x: "left", y: "middle", across: 1, up: 0 }, { x: "center", y: "bottom", across: 0, up: 0.7 },
  { x: "center", y: "top", across: 0, up: -0.7 }, { x: "right", y: "middle", across: -1, up: 0 },
  ...[22, 36, 52].flatMap((far) => [[1, 0.6], [1, -0.6], [-1, 0.6], [-1, -0.6], [0.3, 1], [0.3, -1], [-0.3, 1], [-0.3, -1]].map(([across, up]) => ({ far, across, up }))),
];
const MOST_NAMES = 150;

function nameBox([left, top], spot, width) {
  if (spot.far) {
    const [middle, height] = [left + spot.across * spot.far + (Math.abs(spot.across) === 1 ? spot.across * width / 2 : 0), top - spot.up * spot.far];
    return { left: middle - width / 2, right: middle + width / 2, top: height - 8, bottom: height + 8 };
  }
  const middle = left + spot.across * (9 + width / 2);
  const height = top - Math.sign(spot.up) * 15;
  return { left: middle - width / 2, right: middle + width / 2, top: height - 8, bottom: height + 8 };
}

/* How wide a name is, as the browser will draw it. */
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px " + getComputedStyle(document.body).fontFamily;
function textWidth(text) {
  return ruler.measureText(text).width + 6;
}

/* Whose name comes first: the chosen, its neighbours, sources, the farthest targets. */
function nameOrder(places) {
  const first = choice.selected === null ? [] : [choice.selected, ...neighbourNumbers(choice.selected)];
  const rank = (place) => (domains[place].role === "source" ? Infinity : domains[place].distance_to_source);
  return [...new Set([...first, ...[...places].sort((a, b) => rank(b) - rank(a))])];
}

/* What pictures cover, in pixels; names on them could not be read, not even on one's own. */
function pictureBoxes(full, places, spot) {
  const shown = choice.pictures ? places.filter((place) => pictureOf(domains[place]) !== null) : [];
  const long = (axis, length) => (shown.length ? (pictureSide() / Math.abs(axis.range[1] - axis.range[0])) * length : 0);
  const [wide, high] = [long(full.xaxis, full._size.w), long(full.yaxis, full._size.h)];
  return shown.map((place) => { const [left, top] = spot(domains[place]); return [null, { left: left - wide / 2, right: left + wide / 2, top: top - high, bottom: top }]; });
}

/* A name is shown where it covers neither a point nor a name shown before it. */
function placeNames() {
  const full = mapElement._fullLayout;
  const pixels = (axis, value, length) => ((value - axis.range[0]) / (axis.range[1] - axis.range[0])) * length;
  const spot = (domain) => [pixels(full.xaxis, x(domain), full._size.w), full._size.h - pixels(full.yaxis, y(domain), full._size.h)];
  const places = pointPlaces() || markedPlaces();
  const dots = new Map(places.map((place) => { const [left, top] = spot(domains[place]); return [place, { left: left - 6, right: left + 6, top: top - 6, bottom: top + 6 }]; }));
  const covered = [...dots].concat(pictureBoxes(full, places, spot));
  const hits = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const opacity = opacities();
  const shown = [];
  const annotations = [];
  for (const place of choice.names ? nameOrder(places) : []) {
    if (shown.length >= MOST_NAMES || !dots.has(place)) continue;
    const name = shortName(domains[place].name, isNarrow() ? 14 : 22);
    const width = textWidth(name);
    const free = NAME_PLACES.map((way) => ({ way, box: nameBox(spot(domains[place]), way, width) })).find(({ box }) =>
      box.left > 0 && box.right < full._size.w && box.top > -12 && box.bottom < full._size.h + 4 && !shown.some((other) => hits(box, other)) && !covered.some(([other, dot]) => other !== place && hits(box, dot)));
    if (!free) continue;
    shown.push(free.box);
    const away = place === choice.selected ? 11 : 8;
    if (free.way.far) {
      const { far, across, up } = free.way;
      annotations.push({ x: x(domains[place]), y: y(domains[place]), text: plotlyText(name), showarrow: true, arrowhead: 0, arrowwidth: 0.8, arrowcolor: theme("muted"), standoff: 5,
        ax: across * far, ay: -up * far, xanchor: Math.abs(across) < 1 ? "center" : across > 0 ? "left" : "right", yanchor: "middle", opacity: opacity[place], font: { size: 11 }, borderpad: 0 });
      continue;
    }
    annotations.push({ x: x(domains[place]), y: y(domains[place]), text: plotlyText(name), showarrow: false,
      xanchor: free.way.x, xshift: away * free.way.across, yanchor: free.way.y, yshift: away * free.way.up, opacity: opacity[place], font: { size: 12 },
      ...(closes() ? { bgcolor: theme("surface") + "cc", borderpad: 0 } : {}) }); /* no dash of the ring through a name */
  }
  return Plotly.relayout(mapElement, { annotations });
}

function drawKey(key) {
  byId("key").replaceChildren(...key.map(([label, colour, square]) => element("li", {},
    drawn("svg", { width: 12, height: 12, "aria-hidden": "true" }, square === true
      ? drawn("rect", { x: 1, y: 1, width: 10, height: 10, fill: colour, stroke: colour === "none" ? theme("muted") : "none" })
      : drawn("circle", { cx: 6, cy: 6, r: 5, fill: colour, stroke: colour === "none" ? theme("muted") : "none" })), label)));
}

function densityKey(paint) {
  const means = paint.colours === null;
  return [["source", theme("source"), true], [means ? "mean of the domains there" : "more domains, a deeper shade", means ? theme("muted") : theme("density-high"), null]];
}

function drawMap() {
  const paint = painting();
  const places = pointPlaces();
  const background = places === null ? [densityTrace(paint)] : [];
  const marked = places === null ? markedPlaces() : places;
  const colours = places === null && paint.colours === null ? { colours: domains.map(() => theme("source")), scale: null } : paint;
  const traces = [pictureRoom(), ringTrace(), ...background, neighbourTrace(), ...pointTraces(places === null ? colours : paint, marked)];
  mapElement.style.height = mapHeight(paint) + "px";
  drawKey(places === null ? densityKey(paint) : paint.key);
  drawScaleNote();
  return Plotly.react(mapElement, traces, mapLayout(paint), PLOT_SETTINGS).then(placeNames);
}

function drawSelected() {
  const panel = byId("selected");
  if (choice.selected === null) {
    const advice = domains.length > MANY ? "The shades show how many domains lie where. Zoom in, or select a shade, to see each of them; find one by its name above." : "Ellipses show one deviation of uncertainty. The buttons above the map move and zoom it.";
    panel.replaceChildren(element("h3", {}, "No domain selected"), element("p", { class: "small" }, advice));
    return;
  }
  const domain = domains[choice.selected];
  const facts = [["role", domain.role], ["rows", number(domain.rows)],
    ["index", domain.coordinates.map(number).join(", ")], ["uncertainty", "± " + domain.deviations.map((value) => number(Number(value.toPrecision(2)))).join(", ")],
    ...(HAS_SOURCES ? [["to a source", number(domain.distance_to_source)]] : [])];
  if (closes()) facts.splice(3, 0, ["angle", degrees(domain.angle)]);
  if (domain.held_out_score !== null) facts.push(["held out", score(domain.held_out_score)]);
  if (domain.forecast) facts.push([sharesExpected() ? "expected accuracy" : "expected error", expectedText(domain.forecast)]);
  if (domain.forecast && typeof domain.forecast.two_ways === "number") facts.push(["two ways agree", percent(domain.forecast.two_ways)]);
  if (fromData(choice.column)) facts.push([columns.get(choice.column).label, number(columns.get(choice.column).values[choice.selected])]);
  const picture = pictureOf(domain);
  panel.replaceChildren(
    element("h3", {}, domain.name),
    picture === null ? "" : element("img", { class: "picture", src: picture, alt: "A typical row of " + domain.name }),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    element("p", {}, "Nearest on the map"),
    element("div", { class: "chips" }, ...domain.neighbours.map((near) => element("button", { type: "button", onclick: () => choose({ selected: near }) }, domains[near].name))),
    report.profiles.length ? element("p", {}, element("a", { href: "#why" }, "Why is it there?")) : "",
    element("button", { type: "button", class: "plain", onclick: () => choose({ selected: null }) }, "Clear selection"));
}

/* The first few domains whose name holds what was typed, those that begin with it first. */
function drawFound() {
  const wanted = plainText(byId("find").value.trim());
  const places = [];
  if (wanted) {
    for (const fits of [(name) => name.startsWith(wanted), (name) => !name.startsWith(wanted) && name.includes(wanted)]) {
      for (let place = 0; place < searched.length && places.length < 8; place += 1) if (fits(searched[place])) places.push(place);
    }
  }
  byId("found").replaceChildren(...places.map((place) => element("button", { type: "button", onclick: () => choose({ selected: place }) }, domains[place].name)),
    ...(wanted && !places.length ? [element("span", { class: "small" }, "no domain has this in its name")] : []));
}

/* A part of the map where many lie, four times as large. */
function comeNearer(point) {
  const seen = view();
  const around = (middle, [low, high]) => [middle - (high - low) / 8, middle + (high - low) / 8];
  return Plotly.relayout(mapElement, { "xaxis.range": around(point.x, seen.x), "yaxis.range": around(point.y, seen.y) });
}

function startMap() {
  const select = byId("colour");
  select.append(...[...columns].map(([key, column]) => element("option", { value: key }, column.label)));
  select.value = choice.column;
  select.addEventListener("change", () => choose({ column: select.value }));
  byId("find").addEventListener("input", drawFound);
  byId("with-pictures").hidden = !domains.some((domain) => pictureOf(domain) !== null);
  byId("with-uncertainty").hidden = domains.length > 300;
  for (const name of ["uncertainty", "names", "pictures"]) {
    byId(name).addEventListener("change", (event) => choose({ [name]: event.target.checked }));
  }
  drawSelected();
  drawMap().then(() => {
    mapElement.on("plotly_click", (event) => {
      const point = event.points[0];
      if (point.customdata !== undefined) choose({ selected: point.customdata === choice.selected ? null : point.customdata });
      else if (point.data.type === "heatmap") comeNearer(point);
    });
    mapElement.on("plotly_relayout", (change) => {
      if ("annotations" in change) return;
      if (domains.length > MANY) drawMap(); else placeNames();
    });
    mapElement.dataset.ready = "true";
  });
  listeners.push(drawMap, drawSelected);
}
