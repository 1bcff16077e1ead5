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
drawSettings();

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
window.addEventListener("beforeprint", () => wholeTable(true));
window.addEventListener("afterprint", () => wholeTable(false));
