// Shows a page again when something has changed, and adds keys. Without it all pages work.
"use strict";
const main = document.getElementById("main");
const live = document.getElementById("live");
let shown = main.innerHTML;

// Whoever is writing is not disturbed: the page waits until they are done.
const isBusy = () => main.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

async function renew() {
  if (isBusy() || document.querySelector("textarea")) return;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || isBusy()) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  if (!fresh || fresh.innerHTML === shown) return;
  shown = fresh.innerHTML;
  const focused = document.activeElement && document.activeElement.getAttribute("aria-label");
  main.innerHTML = fresh.innerHTML;
  if (focused) main.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
  find();
}

function find() {
  const field = document.getElementById("find");
  if (!field) return;
  const wanted = field.value.trim().toLowerCase();
  for (const row of document.querySelectorAll(field.dataset.finds)) row.hidden = !row.textContent.toLowerCase().includes(wanted);
}

document.addEventListener("input", (event) => { if (event.target.id === "find") find(); });
document.addEventListener("keydown", (event) => {
  if (event.target.matches("textarea") && event.key === "Enter" && event.ctrlKey) event.target.form.requestSubmit();
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input, textarea, select")) return;
  if (event.key === "/") {
    const field = document.getElementById("find");
    if (field) { event.preventDefault(); field.focus(); } else location.href = "/";
  }
  const tab = document.querySelectorAll(".tabs a")[Number(event.key) - 1];
  if (tab) location.href = tab.href;
});

const { of, mark } = document.body.dataset;
const changes = new EventSource(`/console/changes?${new URLSearchParams({ of, since: mark })}`);
changes.onopen = () => { live.textContent = "live"; };
changes.onerror = () => { live.textContent = "the service does not answer"; };
changes.onmessage = renew;
