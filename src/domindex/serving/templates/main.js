/* The words about the run, the form, and the start of everything. */
function names(list) { return list.join(", "); }

byId("lead").append("Predicts " + names(run.targets) + " for the rows of a table, by " + run.domain + ". Fitted on " + counted(run.domains, "domain") + ", " + number(run.sources) + " of them with labels. ");
if (run.report) byId("lead").append(element("a", { href: "/report", target: "_blank", rel: "noopener" }, "Report of the fit"));
byId("needed").textContent = "The domain, " + run.domain + (run.key ? "; the key, " + run.key : "") + "; and the inputs " + names(run.inputs) + ". Others are ignored; " + names(run.targets) + " may be absent.";

byId("address").textContent = location.origin;

/* Said here before anything is sent; the server says it as well. */
byId("table").addEventListener("change", () => {
  const file = byId("table").files[0];
  const large = file && file.size > run.max_upload * 1e6;
  byId("table").setCustomValidity(large ? "The file is larger than " + run.max_upload + " MB. Predict it with `domindex predict`." : "");
  byId("state").textContent = "";
  if (large) byId("table").reportValidity();
});
byId("upload").addEventListener("submit", () => {
  byId("predict").disabled = true;
  byId("state").textContent = "Predicting …";
});
/* Back in the history, the form can be sent again. */
window.addEventListener("pageshow", () => { byId("predict").disabled = false; byId("state").textContent = ""; });

startMap();
if (answer) { drawAnswer(); drawPlaced(); }
