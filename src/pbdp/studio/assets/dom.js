// Elements, made one by one: no text is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick`) and children; what is null or false is left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Say something to people who listen to the page. */
export function tell(words) {
  const place = document.getElementById("told");
  place.textContent = place.textContent === words ? `${words}\u00a0` : words;
}

/** Hand out a file. */
export function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A block of code with a button that copies it. */
export function copied(label, text) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Copy: ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    tell(`${label} copied`);
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return h("figure", { class: "code" },
    h("figcaption", {}, label, button),
    h("pre", { tabindex: "0", "aria-label": label }, h("code", {}, text)));
}

/** A sentence whose figures are bold, and in one piece. */
export function emphasized(sentence) {
  return sentence.split(/(ε (?:is )?[\d.e-]*\d|δ [\d.e-]*\d|[\d,]+ of [\d,]+ (?:releases|cases))/).map((part, place) => {
    if (place % 2 === 0) return part;
    return h(part.startsWith("δ") ? "span" : "strong", { class: "whole" }, part);
  });
}
