// Budget: what a ledger says of every dataset. It is only read.

import { Asking, Refused } from "./api.js";
import { SpendingChart } from "./charts.js";
import { h } from "./dom.js";
import { meter } from "./explore.js";

const HEADS = [["Time (UTC)"], ["What"], ["Noise"], ["Cost", "number"], ["Spent after it", "number"], ["Key"]];

export default class Budget {
  constructor() {
    this.found = h("div", { class: "budgets" });
    this.place = h("p", { class: "hint" });
    this.element = h("div", { class: "single" },
      h("div", { class: "titled" }, h("h1", {}, "Budget"),
        h("button", { type: "button", onclick: () => this.open() }, "Look again")),
      this.place, this.found);
  }

  back() {
    this.open();
  }

  async open() {
    try {
      this.#show(await (await new Asking("/api/budget").answer).json());
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.found.replaceChildren(h("p", { class: "mistake", role: "alert" }, error.message));
    }
  }

  #show({ ledger, notes, datasets }) {
    this.place.textContent = `Ledger ${ledger}. This page only reads it.`;
    const words = datasets.length ? [] : [h("p", { class: "card" }, "No dataset yet. Make one: ", h("code", {}, "pbdp ledger create NAME --epsilon 3 --delta 1e-6"))];
    this.found.replaceChildren(
      ...notes.map((note) => h("p", { class: "warning" }, note)), ...words,
      ...datasets.map((dataset) => this.#dataset(dataset)));
  }

  #dataset(dataset) {
    const chart = new SpendingChart();
    chart.label = `${dataset.name}: ${dataset.spent_text} of the budget is spent, in ${dataset.entries.length} records`;
    chart.show(dataset.entries);
    return h("section", { class: "card", "data-dataset": dataset.name },
      h("h2", {}, dataset.name),
      dataset.note ? h("p", { class: "hint" }, dataset.note) : null,
      h("dl", { class: "facts" },
        h("div", {}, h("dt", {}, "Spent"), h("dd", { "data-fact": "spent" }, dataset.spent_text)),
        h("div", {}, h("dt", {}, "Left"), h("dd", { "data-fact": "left" }, dataset.left_text)),
        h("div", {}, h("dt", {}, "Whole budget"), h("dd", {}, `ε ${dataset.epsilon_text} at δ ${dataset.delta_text}`)),
        h("div", {}, h("dt", {}, "Releases"), h("dd", {}, dataset.releases.toLocaleString("en-US")))),
      meter(dataset.spent, dataset.spent),
      dataset.words.map((words) => h("p", {}, words)),
      dataset.entries.length > 1 ? chart.element : null,
      h("details", { open: dataset.entries.length <= 12 },
        h("summary", {}, `What it was spent on${dataset.more ? ` (the last ${dataset.entries.length}; ${dataset.more.toLocaleString("en-US")} earlier)` : ""}`),
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Spends of ${dataset.name}` }, h("table", { class: "history" },
          h("thead", {}, h("tr", {}, HEADS.map(([head, kind]) => h("th", { scope: "col", class: kind }, head)))),
          h("tbody", {}, [...dataset.entries].reverse().map((entry) => h("tr", {},
            h("td", {}, entry.time.replace("T", " ")), h("td", {}, entry.what), h("td", {}, entry.noise),
            h("td", { class: "number" }, entry.cost_text), h("td", { class: "number" }, entry.spent_text),
            h("td", { class: "key" }, entry.key))))))));
  }
}
