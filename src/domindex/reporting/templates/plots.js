/* Plotly lies packed in this file. Until it is unpacked the page is read without it; what is to be drawn waits. */
const waiting = [];
const wait = (call) => (...given) => new Promise((resolve) => waiting.push(() => resolve(call(...given))));
window.Plotly = { react: wait((...given) => Plotly.react(...given)), relayout: wait((...given) => Plotly.relayout(...given)), Plots: { resize() {} } };

async function unpackPlots() {
  const packed = document.getElementById("plotly");
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  delete window.Plotly;
  script.textContent = text;
  packed.replaceWith(script);
  waiting.splice(0).forEach((work) => work());
}
