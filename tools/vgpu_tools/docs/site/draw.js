// SPDX-License-Identifier: GPL-2.0-or-later
// Draws a sequence by Mermaid, or bit fields by WaveDrom. The pictures have no colours: site.css has them.
const FONT = "DejaVu Sans", SIZE = 11, CHARACTER = 7; // font, its size, and the width of a wide character
const BIT = 24, TITLE = 22; // width of a bit, height of a word's label

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

/** Return words below each other, each with its label above a row for each 32 bits. */
function bits(words) {
  const root = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const place = document.body.appendChild(Object.assign(document.createElement("div"), { id: "word0" }));
  const size = { width: 32 * BIT + 9, height: 0 };
  for (const { label, bits, fields } of words) {
    const turned = fields.filter((one) => one.name?.length * CHARACTER > one.bits * BIT - 4);
    turned.forEach((one) => (one.rotate = -90));
    fields.filter((one) => !one.name).forEach((one) => (one.rect = { class: "unused", style: "" }));
    const inside = Math.max(30, ...turned.map((one) => 12 + one.name.length * CHARACTER));
    const config = { bits, lanes: bits / 32, hspace: size.width, vspace: inside + 24, fontsize: SIZE, fontfamily: FONT };
    WaveDrom.RenderWaveForm(0, { reg: fields, config }, "word");
    const word = root.appendChild(document.createElementNS(root.namespaceURI, "g"));
    word.setAttribute("transform", `translate(0 ${size.height})`);
    word.innerHTML = `<text class="strong" x="4" y="18" font-size="12"></text><g transform="translate(0 ${TITLE})"></g>`;
    word.firstChild.textContent = label;
    place.querySelectorAll("text[transform]").forEach((one) => one.setAttribute("y", 4)); // in the middle of the field
    word.lastChild.append(...place.firstChild.children);
    size.height += TITLE + config.lanes * config.vspace;
  }
  place.remove();
  root.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  Object.entries(size).forEach(([side, pixels]) => root.setAttribute(side, pixels));
  return root;
}

/** Return a picture as text. The source of a sequence is a text, that of bit fields a list. */
async function draw(name, source) {
  const picture = typeof source === "string" ? await sequence(name, source) : bits(source);
  return new XMLSerializer().serializeToString(picture);
}
