// Table: groups and measures by clicking, the price of the whole at once, and what each measure adds.

import { write } from "./address.js";
import { Asking, Canceled, Newest, Refused } from "./api.js";
import { copied, emphasized, h, save, tell } from "./dom.js";
import { meter } from "./explore.js";
import { NumberField, refuse, SelectField, SwitchField, TextField, toMistake } from "./fields.js";

// What settings of measures are called; others by their own names.
const SETTINGS = {
  within: ["Within", "50, 5%+10, or 2 / 8 below / above; empty if ε is given"],
  confidence: ["Confidence", "that of the table if empty"],
  low: ["Lowest value", "what is below counts as this"],
  high: ["Highest value", "what is above counts as this"],
  at_least: ["In groups of at least", "rows; the width holds from there on"],
  count_within: ["Or: its count within", "each group then has its own interval"],
  per: ["Bounds are per", ""],
  whole: ["Values are whole numbers", ""],
  of: ["Of", ""], over: ["Over", ""], column: ["Column", ""],
  of_low: ["Lowest, of", ""], of_high: ["Highest, of", ""], over_low: ["Lowest, over", ""], over_high: ["Highest, over", ""],
  of_within: ["Of within", ""], over_within: ["Over within", ""],
  name: ["Name", "the published column"],
};
const COLUMNS = ["column", "of", "over"];
const SUMMED = ["integer", "number", "boolean", "untyped"];
const GROUPED = ["text", "integer", "boolean", "date", "untyped"];
const KIND_WORDS = { untyped: "text in CSV", integer: "whole number", number: "number", boolean: "true/false", text: "text", date: "date", time: "time", zoned: "time with zone", other: "other" };
// What a new table starts with, where the form of the server says nothing.
const START = { delta: "1e-6", confidence: "0.95", neighbors: "", by: [], select: { people: "", confidence: "" }, measures: [] };
// Settings that have a place of their own on the page; all others follow in the order of the query.
const PLACED = ["unit", "one_row_per_person", "groups_per_person", "rows_per_group", "where", "delta", "confidence", "epsilon", "neighbors", "bounds_touched", "quality"];

export default class Table {
  #form = null;
  #fields = [];
  #adds = [];
  #round = 0;
  // the last round in which it was said what measures add
  #told = 0;
  #kinds = {};
  #titles = {};
  #columns = [];
  // the settings of a query that are typed or switched, as the server declares them
  #declared = [];
  #start = START;
  // the form as it was when it was last asked for: what is typed meanwhile is another table
  #asked = null;

  constructor(about) {
    this.about = about;
    this.columns = h("ul", {});
    this.source = h("p", { class: "hint" });
    this.people = h("div", {});
    this.groups = h("div", {});
    this.measures = h("div", {});
    this.settings = h("div", {});
    this.trouble = h("div", { class: "trouble", role: "alert" });
    this.big = h("p", { class: "big" });
    this.summary = h("p", { class: "summary", "aria-hidden": "true" });
    this.told = h("div", {});
    this.numbers = h("div", {});
    this.prices = h("div", { class: "prices" });
    this.lines = h("div", { class: "lines" });
    this.published = h("div", { role: "region", "aria-label": "Published table" });
    this.waited = h("span", {});
    this.wait = h("div", { class: "wait", hidden: true }, h("span", { class: "spin", "aria-hidden": "true" }), this.waited,
      h("button", { type: "button", class: "small", onclick: () => this.cost.cancel() }, "Cancel"));
    this.dialog = h("dialog", { "aria-labelledby": "agree-title" });
    this.cost = new Newest("/api/table", {
      show: (found, body) => this.#show(found, body),
      refuse: (error) => this.#refuse(error),
      progress: (told) => {
        this.wait.hidden = told === null;
        if (told === null) return;
        this.waited.textContent = `Planning the table, ${told.seconds.toFixed(0)} s`;
        refuse(this.#fields, []);
        this.trouble.replaceChildren();
      },
    });
    this.price = new Newest("/api/table/price", {
      show: (found, body) => {
        this.#showPrices(found, body);
        this.#added(body.table);
      },
      refuse: (error, body) => {
        this.priced.hidden = false;
        this.prices.replaceChildren(h("p", { class: "mistake" }, error.message));
        this.#added(body.table);
      },
    });
    this.priced = h("section", { class: "card", hidden: true }, h("h2", {}, "Publish from a budget"), this.prices);
    this.costs = h("div", { class: "cost" },
      h("section", { class: "card", "aria-labelledby": "cost-title" }, h("h2", { id: "cost-title" }, "The whole table"),
        this.wait, this.trouble, this.big, this.told),
      this.priced);
    this.accuracy = h("section", { class: "card", hidden: true }, h("h2", {}, "How near each number will be"), this.numbers);
    this.away = h("section", { class: "card", hidden: true }, h("h2", {}, "Take it away"), this.lines);
    this.element = h("div", {},
      h("h1", { class: "unseen" }, "Build a table"),
      h("div", { class: "builder" },
        h("section", { class: "card columns", "aria-labelledby": "columns-title" }, h("h2", { id: "columns-title" }, "Columns"), this.source, this.columns),
        h("form", { class: "asked", "aria-label": "Table", onsubmit: (event) => event.preventDefault() },
          h("section", { class: "card" }, h("h2", {}, "Whose data"), this.people),
          h("section", { class: "card" }, h("h2", {}, "Groups"), this.groups),
          h("section", { class: "card" }, h("h2", {}, "Measures"), this.measures),
          h("section", { class: "card" }, h("h2", {}, "How private, how sure"), this.settings),
          this.accuracy, this.published, this.away),
        this.costs),
      this.dialog, this.summary);
  }

  async open(state) {
    try {
      const found = await (await new Asking("/api/builder").answer).json();
      this.#kinds = found.kinds;
      this.#titles = found.titles;
      this.#columns = found.columns;
      this.#declared = found.fields;
      this.#start = { ...Object.fromEntries(found.fields.map((one) => [one.name, blank(one)])), ...START };
      this.#form = structuredClone({ ...this.#start, ...pruned(found.form, this.#start) });
      this.source.replaceChildren(found.data ? `${found.data}: names and types; no value was read.` : "No data is named.");
      if (found.trouble) this.source.append(h("span", { class: "mistake" }, found.trouble));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.trouble.replaceChildren(h("p", { class: "mistake" }, error.message));
      return;
    }
    if (state.form) this.#form = remembered(state.form, this.#kinds, this.#start) ?? this.#form;
    this.#build();
    this.#ask();
  }

  back() {
    this.#locate();
    if (this.about.ledger) this.#ask();
  }

  #locate() {
    write("table", { form: JSON.stringify(this.#form) });
  }

  #ask() {
    this.#locate();
    this.#round += 1;
    if (this.adding?.long) this.adding.cancel();
    this.#asked = structuredClone(this.#form);
    this.#withhold();
    this.costs.classList.add("stale");
    this.cost.ask({ table: this.#asked });
  }

  /** Nothing is published before its own price is there. */
  #withhold() {
    for (const button of this.prices.querySelectorAll("button")) button.disabled = true;
  }

  /** Rows came or went: the form is made anew. */
  #rebuild(focus = null) {
    this.#build();
    this.#ask();
    if (focus) this.element.querySelector(focus)?.focus();
  }

  // ---- the form

  #build() {
    this.#fields = [];
    this.#adds = [];
    const form = this.#form;
    this.columns.replaceChildren(...this.#columns.map((column) => this.#column(column)));
    const names = this.#columns.map((column) => column.name);
    const unit = names.length
      ? this.#select("unit", "A person is all rows with the same", [["", "choose a column"], ...names.map((name) => [name, name])])
      : this.#text("unit", "A person is all rows with the same", "the column that says whose row it is");
    const several = [unit, this.#number("groups_per_person", "Groups per person", "nobody counts in more"),
      this.#number("rows_per_group", "Rows per group", "nobody counts with more in one group")];
    const single = new SwitchField({
      name: "one_row_per_person", label: "Nobody has more than one row",
      change: (value) => { form.one_row_per_person = value; this.#rebuild(); },
    });
    single.value = form.one_row_per_person;
    this.#fields.push(single);
    for (const field of several) field.hidden = form.one_row_per_person;
    this.people.replaceChildren(h("div", { class: "fields" }, h("div", { class: "full" }, single.element), several.map((field) => field.element)));
    this.#buildGroups();
    this.#buildMeasures();
    this.#buildSettings();
  }

  #column({ name, kind }) {
    const form = this.#form;
    const grouped = form.by.some((row) => row.column === name);
    const add = (measure) => () => {
      form.measures.push(measure);
      this.#rebuild(`[data-measure="${form.measures.length - 1}"] input`);
    };
    return h("li", {}, h("div", { class: "named" }, h("span", {}, name), h("span", { class: "kind" }, KIND_WORDS[kind] ?? kind)),
      h("div", { class: "buttons" },
        GROUPED.includes(kind) || kind === "number" ? h("button", {
          type: "button", class: "small", "aria-label": `Group by ${name}`, disabled: grouped,
          onclick: () => { form.by.push({ column: name, keys: "", rest: "" }); this.#rebuild(`[data-group="${form.by.length - 1}"] input`); },
        }, "Group") : null,
        SUMMED.includes(kind) ? h("button", {
          type: "button", class: "small", "aria-label": `Sum of ${name}`,
          onclick: add({ kind: "sum", column: name, low: "", high: "", within: "", name: this.#named(`sum_${name}`) }),
        }, "Sum") : null,
        SUMMED.includes(kind) ? h("button", {
          type: "button", class: "small", "aria-label": `Mean of ${name}`,
          onclick: add({ kind: "mean", column: name, low: "", high: "", within: "", at_least: "", name: this.#named(`mean_${name}`) }),
        }, "Mean") : null));
  }

  #named(wanted) {
    const taken = this.#form.measures.map((measure) => measure.name);
    let name = wanted;
    for (let number = 2; taken.includes(name); number += 1) name = `${wanted}_${number}`;
    return name;
  }

  #buildGroups() {
    const form = this.#form;
    const rows = form.by.map((row, place) => {
      const keys = this.#text(`by.${place}.keys`, "Public keys", "Paris, Rome or 1..12 or 0..100 by 5; empty to select groups privately", row, "keys");
      const rest = this.#text(`by.${place}.rest`, "Everything else as", "one more group, if you like", row, "rest");
      return h("fieldset", { class: "row", "data-group": place }, h("legend", {}, row.column),
        h("div", { class: "fields" }, h("div", { class: "full" }, keys.element), rest.element),
        h("div", { class: "foot" }, h("span", {}), h("button", {
          type: "button", class: "small", "aria-label": `Remove ${row.column}`,
          onclick: () => { form.by.splice(place, 1); this.#rebuild(); },
        }, "Remove")));
    });
    const open = form.by.some((row) => !row.keys.trim() || row.keys.trim() === "?");
    const people = this.#number("select.people", "Publish groups of roughly this many people", "which groups there are is private too, unless you list them", form.select, "people");
    const sure = this.#number("select.confidence", "… this often", "0.95 if empty", form.select, "confidence");
    const where = this.#text("where", "Only rows where", "such as spend > 0; empty for all");
    people.hidden = sure.hidden = !(open && form.by.length) && !form.select.people;
    const typed = this.#columns.length ? null : h("button", {
      type: "button", class: "small",
      onclick: () => { const name = globalThis.prompt("Column to group by"); if (name) { form.by.push({ column: name, keys: "", rest: "" }); this.#rebuild(); } },
    }, "Group by another column");
    this.groups.replaceChildren(...[
      rows.length ? null : h("p", { class: "hint" }, "One group of everybody. Click “Group” beside a column for more."),
      ...rows, typed, h("div", { class: "fields" }, people.element, sure.element, h("div", { class: "full" }, where.element)),
    ].filter(Boolean));
  }

  #buildMeasures() {
    const form = this.#form;
    const rows = form.measures.map((measure, place) => this.#measure(measure, place));
    const add = (kind, more) => h("button", {
      type: "button",
      onclick: () => {
        form.measures.push({ kind, ...more, name: this.#named(more.name ?? kind) });
        this.#rebuild(`[data-measure="${form.measures.length - 1}"] input`);
      },
    }, `Add: ${this.#titles[kind].toLowerCase()}`);
    const others = Object.keys(this.#kinds).filter((kind) => !["sum", "mean"].includes(kind) || !this.#columns.length);
    this.measures.replaceChildren(...rows, h("div", { class: "buttons" }, others.map((kind) => add(kind, { within: this.#kinds[kind].includes("within") ? "50" : undefined }))));
  }

  #measure(measure, place) {
    const form = this.#form;
    const names = this.#columns.map((column) => column.name);
    const elements = (this.#kinds[measure.kind] ?? ["name"]).map((setting) => {
      const [label, hint] = SETTINGS[setting] ?? [setting, ""];
      const name = `measures.${place}.${setting}`;
      if (setting === "whole") return this.#switch(name, label, measure, setting);
      if (setting === "per") return this.#select(name, label, [["", "row"], ["person", "person"]], measure, setting);
      if (COLUMNS.includes(setting) && names.length) return this.#select(name, label, [["", measure.kind === "count" ? "all rows" : "choose"], ...names.map((one) => [one, one])], measure, setting);
      if (setting === "name" || COLUMNS.includes(setting)) return this.#text(name, label, hint, measure, setting);
      return this.#number(name, label, hint, measure, setting);
    }).map((field) => field.element);
    const adds = h("span", { class: "adds", "data-adds": place });
    this.#adds.push(adds);
    const kind = new SelectField({
      name: `measures.${place}.kind`, label: "Kind", options: Object.keys(this.#kinds).map((one) => [one, this.#titles[one]]),
      change: (value) => { measure.kind = value; this.#rebuild(); },
    });
    kind.value = measure.kind;
    this.#fields.push(kind);
    return h("fieldset", { class: "row", "data-measure": place }, h("legend", {}, `${this.#titles[measure.kind] ?? measure.kind}${measure.column ? ` of ${measure.column}` : ""}`),
      h("div", { class: "fields" }, kind.element, elements),
      h("div", { class: "foot" }, adds, h("button", {
        type: "button", class: "small", "aria-label": `Remove ${measure.name || measure.kind}`,
        onclick: () => { form.measures.splice(place, 1); this.#rebuild(); },
      }, "Remove")));
  }

  #buildSettings() {
    const fields = [
      this.#number("delta", "δ", "well below 1 / number of people"),
      this.#number("confidence", "Confidence", "of every width"),
      this.#number("epsilon", "ε, if widths are to be found", "then leave widths empty"),
      // the first is meant where none is said
      this.#select("neighbors", "Neighbors: one person is", this.about.neighbors.map(([value, words], place) => [place ? value : "", words])),
      this.#switch("bounds_touched", "Also publish whom the bounds touched"),
      this.#switch("quality", "Mark numbers as good, fair or poor"),
      ...this.#declared.filter(({ name }) => !PLACED.includes(name)).map((one) => this.#other(one)),
    ];
    this.settings.replaceChildren(h("div", { class: "fields" }, fields.map((field) => field.element)));
  }

  /** A setting without a place of its own. */
  #other({ name, help, kind, choices }) {
    const label = name.replaceAll("_", " ");
    if (kind === "truth" || kind === "touched") return this.#switch(name, `${label}: ${help}`);
    if (kind === "choice") return this.#select(name, label, [["", "usual"], ...choices.map((one) => [one, one])]);
    return kind === "number" ? this.#number(name, label, help) : this.#text(name, label, help);
  }

  #kept(field, target, key) {
    field.value = target[key] ?? (field instanceof SwitchField ? false : "");
    this.#fields.push(field);
    return field;
  }

  #number(name, label, hint, target = this.#form, key = name) {
    return this.#kept(new NumberField({ name, label, hint, change: (value) => { target[key] = value; this.#ask(); } }), target, key);
  }

  #text(name, label, hint, target = this.#form, key = name) {
    return this.#kept(new TextField({ name, label, hint, change: (value) => { target[key] = value; this.#typed(name); this.#ask(); } }), target, key);
  }

  #select(name, label, options, target = this.#form, key = name) {
    return this.#kept(new SelectField({ name, label, options, change: (value) => { target[key] = value; this.#ask(); } }), target, key);
  }

  #switch(name, label, target = this.#form, key = name) {
    return this.#kept(new SwitchField({ name, label, change: (value) => { target[key] = value; this.#ask(); } }), target, key);
  }

  /** Fields for a selection are there while a column has no keys. */
  #typed(name) {
    if (!name.endsWith(".keys")) return;
    const open = this.#form.by.some((row) => !row.keys.trim() || row.keys.trim() === "?");
    for (const field of this.#fields) {
      if (field.name.startsWith("select.")) field.hidden = !open && !this.#form.select.people;
    }
  }

  // ---- what it costs

  #show(found, body) {
    refuse(this.#fields, []);
    this.trouble.replaceChildren();
    this.big.textContent = `ε ${found.epsilon_text}`;
    this.accuracy.hidden = this.away.hidden = false;
    this.summary.replaceChildren(h("b", {}, `ε ${found.epsilon_text}`), " for the whole table");
    this.told.replaceChildren(h("p", {}, emphasized(found.sentence)), h("p", { class: "risk" }, found.risk),
      ...found.remarks.map((words) => h("p", { class: "hint" }, words)));
    tell(found.sentence);
    this.numbers.replaceChildren(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Accuracy of each number" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Number", "Accuracy", "Noise", "One person"].map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, found.numbers.map((number) => h("tr", {}, h("th", { scope: "row" }, number.number),
        h("td", {}, `${number.accuracy}, ${number.confidence_text}`), h("td", {}, number.noise), h("td", {}, number.person))),
      found.means.map((mean) => h("tr", {}, h("th", { scope: "row" }, mean.measure), h("td", { colspan: 3 }, mean.words)))))));
    this.#lines(found);
    if (body.table !== this.#asked) return;
    this.costs.classList.remove("stale");
    // one after the other: who has just planned the table need not plan it again
    if (this.about.ledger) this.price.ask({ table: body.table });
    else this.#added(body.table);
  }

  /** What can be copied; a ledger with one dataset has its name filled in. */
  #lines(found, dataset = "DATASET") {
    this.taken = found;
    const file = h("button", {
      type: "button", onclick: () => save(new Blob([found.query_file], { type: "text/plain" }), "query.toml"),
    }, "Query file (TOML)");
    this.lines.replaceChildren(h("div", { class: "buttons wide" }, file), copied("Query file", found.query_file),
      copied("Command line", found.command.replace("DATASET", dataset)),
      copied("Python", found.python.replace("DATASET", dataset)));
  }

  /** What each measure adds, one after the other. */
  async #added(form) {
    if (form !== this.#asked || this.#told === this.#round) return;
    const round = this.#round;
    this.#told = round;
    for (const adds of this.#adds) adds.textContent = "adds …";
    for (const place of form.measures.keys()) {
      try {
        this.adding = new Asking("/api/table", { table: form, without: place });
        const found = await (await this.adding.answer).json();
        if (round !== this.#round) return;
        this.#adds[place].textContent = found.words;
      } catch (error) {
        if (!(error instanceof Refused || error instanceof Canceled)) throw error;
        if (round !== this.#round) return;
        this.#adds[place].textContent = "";
      }
    }
  }

  #refuse(error) {
    this.costs.classList.remove("stale");
    // nothing of the table before is left
    this.big.replaceChildren();
    this.told.replaceChildren();
    this.prices.replaceChildren();
    this.priced.hidden = this.accuracy.hidden = this.away.hidden = true;
    for (const adds of this.#adds) adds.textContent = "";
    const left = error instanceof Canceled ? ["Canceled. Change something to ask again."] : refuse(this.#fields, error.errors);
    const marked = "Something is missing or wrong; it is said beside its field.";
    this.trouble.replaceChildren(...(left.length
      ? left.map((message) => h("p", { class: "mistake" }, message))
      : [h("p", { class: "warning marked" }, marked, toMistake(this.element))]));
    this.summary.replaceChildren(h("span", {}, left[0] ?? marked));
    if (!(error instanceof Canceled)) tell(error.message);
  }

  // ---- publishing

  #showPrices({ key, paid_from: paid, prices }, { table }) {
    if (table !== this.#asked) return;
    this.priced.hidden = false;
    if (prices.length === 1 && /^[\w-]+$/.test(prices[0].dataset)) this.#lines(this.taken, prices[0].dataset);
    this.prices.replaceChildren(...(prices.length ? prices.map((price) => h("div", { class: "price" },
      h("h3", {}, price.dataset),
      ...(paid === price.dataset
        ? [meter(price.before, price.before), h("p", {}, "Paid for already: the same table comes back, and costs nothing.")]
        : [meter(price.before, price.after), h("p", {}, price.words)]),
      h("button", {
        type: "button", class: "main",
        disabled: !key || (paid ? paid !== price.dataset : !price.fits && !price.blocks.length),
        onclick: () => this.#confirm(price, key, paid, table),
      }, `Publish from ${price.dataset} …`)))
      : [h("p", {}, "The ledger has no dataset yet.")]),
    ...(key ? [] : [h("p", { class: "hint" }, "There is no data to publish.")]));
  }

  /** What it costs and what is left, before anything is paid. */
  #confirm(whole, key, paid, table) {
    const { dataset } = whole;
    const free = paid === dataset;
    let price = whole;
    const agree = h("button", { type: "button", class: "main" });
    const facts = h("div", {});
    const show = () => {
      agree.textContent = free ? "Publish again, for nothing" : `Pay ${price.share_text} and publish`;
      agree.disabled = !free && !price.fits;
      facts.replaceChildren(
        h("dl", { class: "facts" },
          h("div", {}, h("dt", {}, "Cost"), h("dd", { "data-fact": "cost" }, free ? "nothing" : price.share_text || "more than is left")),
          h("div", {}, h("dt", {}, "Spent before"), h("dd", {}, price.before_text)),
          h("div", {}, h("dt", {}, "Left after it"), h("dd", { "data-fact": "left" }, free ? "the same" : price.left_text))),
        meter(price.before, free ? price.before : price.after),
        ...(free || price.fits ? [] : [h("p", { class: "mistake" }, price.words)]));
    };
    const blocks = whole.blocks.map((name, place) => h("input", {
      type: "checkbox", value: name, id: `block-${place}`, checked: true,
      onchange: () => { agree.disabled = true; again.ask({ table, dataset, blocks: chosen() }); },
    }));
    const chosen = () => blocks.filter((box) => box.checked).map((box) => box.value);
    const again = new Newest("/api/table/price", {
      show: ({ prices }) => { [price] = prices; show(); },
      refuse: (error) => facts.replaceChildren(h("p", { class: "mistake", role: "alert" }, error.message)),
    });
    show();
    this.dialog.replaceChildren(
      h("h2", { id: "agree-title" }, `Publish from the budget of ${dataset}?`),
      h("p", {}, named(table)),
      facts,
      h("p", {}, free
        ? "This table was paid for already: the same one comes back."
        : "The price is paid first, then the data is read and the noise is drawn. That cannot be taken back."),
      ...(blocks.length ? [h("fieldset", { class: "row" }, h("legend", {}, free ? "Blocks of people it was paid for" : "Blocks of people that the data holds"),
        blocks.map((box) => h("p", {}, box, " ", h("label", { for: box.id }, box.value))))] : []),
      h("p", { class: "key" }, `Request key: ${key}. Under it the same table comes back and costs nothing more.`),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"), agree));
    agree.addEventListener("click", () => {
      agree.disabled = true;
      const some = blocks.length ? { blocks: chosen() } : {};
      this.#publish({ table, dataset, key, agreed: price.share ?? 0, ...some }, agree);
    });
    this.dialog.showModal();
  }

  async #publish(body, agree) {
    const label = agree.textContent;
    const asking = new Asking("/api/publish", body, (told) => {
      agree.textContent = told === null ? label : `Publishing, ${told.seconds.toFixed(0)} s`;
    });
    try {
      const found = await (await asking.answer).json();
      this.#withhold();
      this.dialog.close();
      this.#showPublished(found, body.table.measures.length);
      this.price.ask({ table: body.table });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.dialog.querySelector(".mistake")?.remove();
      agree.before(h("p", { class: "mistake", role: "alert" }, error.message));
      this.price.ask({ table: body.table });
    }
  }

  #showPublished(found, measures) {
    // keys come first, then the numbers
    const aligned = (place) => (place < found.columns.length - measures ? null : "number");
    const files = found.files.map((file) => h("button", {
      type: "button",
      onclick: () => save(new Blob([Uint8Array.from(atob(file.base64), (letter) => letter.charCodeAt(0))], { type: file.media }), file.name),
    }, file.name));
    const groups = found.rows === 1 ? "1 group" : `${found.rows.toLocaleString("en-US")} groups`;
    this.published.replaceChildren(h("section", { class: "card" },
      h("h2", {}, `Published: ${groups}`),
      h("p", {}, found.repeated ? "This is the stored table; nothing was spent." : `${found.spent_text} of the budget is spent now, ${found.left_text} is left.`),
      h("div", { class: "buttons" }, files),
      h("p", { class: "hint" }, "Save all files: who has the manifest can check the table with pbdp verify."),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Published numbers" }, h("table", {},
        h("thead", {}, h("tr", {}, found.columns.map((name, place) => h("th", { scope: "col", class: aligned(place) }, name)))),
        h("tbody", {}, found.shown.map((row) => h("tr", {}, row.map((cell, place) => h("td", { class: aligned(place) }, cell))))))),
      found.rows > found.shown.length ? h("p", { class: "hint" }, `The first ${found.shown.length}; the file has all of them.`) : null,
      h("ul", { class: "why" }, found.notes.map((note) => h("li", {}, note)))));
    this.published.scrollIntoView({ block: "nearest" });
    tell(`Published: ${groups}`);
  }
}

/** What a table holds, in a line. */
function named({ measures, by }) {
  const groups = by.map((row) => row.column).join(", ");
  return `${measures.map((measure) => measure.name || measure.kind).join(", ")}${groups ? ` by ${groups}` : ""}`;
}

/** The form of an address; null if that was cut, or made by other means: the builder then starts as usual. */
function remembered(text, kinds, start) {
  try {
    const form = { ...structuredClone(start), ...JSON.parse(text) };
    const texts = (row) => Object.values(row).every((value) => ["string", "boolean"].includes(typeof value));
    const whole = Object.keys(start).every((name) => typeof form[name] === typeof start[name])
      && form.by.every((row) => texts(row) && "column" in row && "keys" in row)
      && form.measures.every((row) => texts(row) && Object.hasOwn(kinds, row.kind)) && texts(form.select);
    return whole ? form : null;
  } catch {
    return null;
  }
}

/** What a query file says, without what it leaves open. */
function pruned(form, start) {
  return Object.fromEntries(Object.entries(form).filter(([name, value]) => !(name in start) || value !== "" || start[name] === ""));
}

/** A setting that was not said yet. */
function blank({ kind, default: usual }) {
  return ["truth", "touched"].includes(kind) ? usual === true : "";
}
