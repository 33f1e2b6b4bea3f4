// SPDX-License-Identifier: Apache-2.0
// Puts what the server sends in the place of what is shown, and keeps the focus where it was.
"use strict";
const content = document.getElementById("content");
const status = document.getElementById("live");
const source = new EventSource("/live" + location.search);
source.addEventListener("message", (event) => {
  const focused = document.activeElement && document.activeElement.id;
  const scrolled = [...content.querySelectorAll(".picture")].map((picture) => picture.scrollLeft);
  content.innerHTML = event.data;
  content.querySelectorAll(".picture").forEach((picture, i) => { picture.scrollLeft = scrolled[i] || 0; });
  const again = focused && document.getElementById(focused);
  if (again) again.focus();
});
source.addEventListener("open", () => { status.textContent = "live"; });
source.addEventListener("error", () => { status.textContent = "not connected"; });
