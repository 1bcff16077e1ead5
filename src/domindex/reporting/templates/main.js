/* Draw everything, and again when the colours of the page change. */
drawHead();
drawWarnings();
startMap();
startTable();
drawExpected();
drawQuality();
drawAudit();
drawTrials();
drawHistory();
drawSettings();

function redrawPlots() {
  drawMap();
  drawQualityPlot();
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawPlots);
window.matchMedia("print").addEventListener("change", () => {
  redrawPlots();
  document.querySelectorAll(".js-plotly-plot").forEach((plot) => Plotly.Plots.resize(plot));
});
