// SPDX-License-Identifier: GPL-2.0-or-later
// What the theme lacks for readers who use a keyboard or a screen reader.
document.addEventListener("DOMContentLoaded", () => {
  // Reach by the keyboard all that scrolls sideways.
  for (const one of document.querySelectorAll(".table-wrapper, pre")) {
    if (one.scrollWidth > one.clientWidth) {
      one.tabIndex = 0;
      one.setAttribute("role", "group");
      one.setAttribute("aria-label", one.matches("pre") ? "text that scrolls" : "table that scrolls");
    }
  }
  // Show a picture that is a link to its file, instead of saving the file.
  for (const one of document.querySelectorAll("a[download]:has(img)")) {
    one.removeAttribute("download");
  }
  // Name the two bars at the sides, and give the captions of the left one a level.
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "all pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "sections of this page");
  for (const one of document.querySelectorAll(".caption[role=heading]")) {
    one.setAttribute("aria-level", "2");
  }
  // The page of search results has no heading.
  const article = document.querySelector("article");
  if (article && !article.querySelector("h1")) {
    article.prepend(Object.assign(document.createElement("h1"), { textContent: document.title }));
  }
  // The empty corner of a table is no heading.
  for (const one of document.querySelectorAll("th")) {
    if (!one.textContent.trim()) {
      one.replaceWith(document.createElement("td"));
    }
  }
});
