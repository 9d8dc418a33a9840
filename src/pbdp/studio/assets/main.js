// The page: enter, then show the view that the address names.

import { read } from "./address.js";
import { enter, Refused } from "./api.js";
import { h } from "./dom.js";

const theme = document.getElementById("theme");
theme.value = document.documentElement.dataset.theme;
theme.addEventListener("change", () => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("pbdp-theme", theme.value);
});

addEventListener("pbdp-locked", (event) => lock(event.detail));

function lock(why) {
  document.getElementById("view").hidden = true;
  document.getElementById("locked").hidden = false;
  document.getElementById("locked-why").textContent = why;
  // the right address may be typed over this one
  addEventListener("hashchange", () => location.reload());
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});

function titled(name) {
  return `${name[0].toUpperCase()}${name.slice(1)}`;
}

async function start() {
  let about;
  try {
    about = await enter();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    lock(error.message);
    return;
  }
  // a view has the name of its file
  const files = await Promise.all(about.views.map((name) => import(`./${name}.js`)));
  const views = Object.fromEntries(files.map(({ default: View }, place) => [about.views[place], new View(about)]));
  document.getElementById("views").append(...about.views.map((name) => h("li", {}, h("a", { href: `#/${name}`, "data-view": name }, titled(name)))));

  const seen = new Set();
  let present = null;

  function show() {
    if (location.hash.startsWith("#token=")) return location.reload();
    const { view: asked, state } = read();
    const name = Object.hasOwn(views, asked) ? asked : about.views[0];
    const view = views[name];
    if (present !== name) {
      document.getElementById("view").replaceChildren(view.element);
      document.title = `${titled(name)} · pbdp studio`;
      for (const link of document.querySelectorAll("[data-view]")) {
        if (link.dataset.view === name) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      if (present !== null) document.getElementById("main").focus({ preventScroll: true });
      present = name;
    }
    // a view that was left is found again as it was
    if (Object.keys(state).length || !seen.has(name)) view.open(state);
    else view.back();
    seen.add(name);
  }

  addEventListener("hashchange", show);
  show();
}

start();
