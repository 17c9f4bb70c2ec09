// SPDX-License-Identifier: GPL-2.0-or-later
// Make everything that scrolls sideways reachable by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const one of document.querySelectorAll(".table-wrapper, pre")) {
    if (one.scrollWidth > one.clientWidth) {
      one.tabIndex = 0;
      one.setAttribute("role", "region");
      one.setAttribute("aria-label", one.matches("pre") ? "text that scrolls" : "table that scrolls");
    }
  }
});
