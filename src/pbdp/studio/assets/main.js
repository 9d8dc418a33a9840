// The page: enter, then show the view that the address names.

import { read } from "./address.js";
import { enter, Refused } from "./api.js";
import { Budget } from "./budget.js";
import { h } from "./dom.js";
import { Explore } from "./explore.js";
import { Table } from "./table.js";

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
  const views = { explore: new Explore(about) };
  if (about.table) views.table = new Table(about);
  if (about.ledger) views.budget = new Budget();
  // the first one has its link already
  const links = Object.keys(views).slice(1).map((name) => h("li", {}, h("a", { href: `#/${name}`, "data-view": name }, titled(name))));
  document.getElementById("views").append(...links);

  const seen = new Set();
  let present = null;

  function show() {
    if (location.hash.startsWith("#token=")) return location.reload();
    const { view: asked, state } = read();
    const name = asked in views ? asked : "explore";
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
