// SPDX-License-Identifier: GPL-2.0-or-later
// Draws a sequence by Mermaid. The pictures have no colours: site.css has them.
const FONT = "DejaVu Sans", SIZE = 11; // font and its size

mermaid.initialize({
  startOnLoad: false,
  theme: "base",
  look: "classic",
  fontFamily: FONT,
  fontSize: SIZE,
  sequence: {
    useMaxWidth: false,
    wrap: true,
    mirrorActors: false,
    width: 150,
    height: 32,
    actorMargin: 12,
    boxMargin: 8,
    boxTextMargin: 4,
    noteAlign: "left", // a phone shows the left part of a note over all participants
    noteMargin: 6,
    messageMargin: 18,
    diagramMarginX: 8,
    diagramMarginY: 8,
    wrapPadding: 6,
  },
});

/** Return a sequence without Mermaid's colours, and without names that another picture of the page may have. */
async function sequence(name, source) {
  const { svg } = await mermaid.render(name.replace(/\W/g, "-"), source);
  const root = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  root.querySelectorAll("style, symbol").forEach((one) => one.remove());
  root.querySelectorAll("[id]:not(marker)").forEach((one) => one.removeAttribute("id"));
  ["id", "role", "aria-roledescription"].forEach((one) => root.removeAttribute(one));
  return root;
}

/** Return a picture as text. */
async function draw(name, source) {
  return new XMLSerializer().serializeToString(await sequence(name, source));
}
