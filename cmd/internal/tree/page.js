// SPDX-License-Identifier: Apache-2.0
// Replaces the content of the page with each update of the server, and keeps the focus. While a mouse button is pressed, the
// content does not change: otherwise another link could be below the pointer when it is released, and the click would be lost.
"use strict";
const content = document.getElementById("content");
const status = document.getElementById("live");
const source = new EventSource("/live" + location.search);
let pressed = false;
let held = null;
function show() {
  if (pressed || held === null) return;
  const focused = document.activeElement && document.activeElement.id;
  const scrolled = [...content.querySelectorAll(".picture")].map((picture) => picture.scrollLeft);
  content.innerHTML = held;
  held = null;
  content.querySelectorAll(".picture").forEach((picture, i) => { picture.scrollLeft = scrolled[i] || 0; });
  const again = focused && document.getElementById(focused);
  if (again) again.focus();
}
source.addEventListener("message", (event) => { held = event.data; show(); });
addEventListener("pointerdown", () => { pressed = true; });
for (const end of ["pointerup", "pointercancel"]) {
  addEventListener(end, () => { pressed = false; setTimeout(show); }); // the click comes first
}
source.addEventListener("open", () => { status.textContent = "live"; });
source.addEventListener("error", () => { status.textContent = "not connected"; });
