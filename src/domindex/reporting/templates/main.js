/* Draw everything, and again when the colours of the page change. */
drawHead();
drawRely();
startMap();
startTable();
startWhy();
drawDrivers();
drawQuality();
drawPrepared();
drawAudit();
drawHistory();
drawChosen();
drawSettings();
byId("report").classList.add("drawn");
requestAnimationFrame(() => setTimeout(() => unpackPlots().catch((error) => {
  document.querySelectorAll(".plot").forEach((plot) => plot.replaceChildren("This browser cannot unpack the figures (" + error.message + "). Open the report in one of 2023 or later; the tables hold the same figures."));
}), 0));

function redrawPlots() {
  drawForecastPlot();
  drawQualityPlots();
  return drawMap();
}

function resizePlots() { document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot)); }

/* Paper is light, narrow, and has every row. */
function onPaper(isPaper) {
  wholeTable(isPaper);
  resizePlots();
  redrawPlots();
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawPlots);
window.matchMedia("print").addEventListener("change", (event) => onPaper(event.matches));
/* Paper cannot be unfolded. */
let folded = [];
function unfold() {
  folded = [...document.querySelectorAll("details:not([open])")];
  folded.forEach((one) => { one.open = true; });
}
window.addEventListener("beforeprint", () => { unfold(); wholeTable(true); });
window.addEventListener("afterprint", () => { folded.forEach((one) => { one.open = false; }); wholeTable(false); });
