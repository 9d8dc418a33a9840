// Explore: one number. Two of width, confidence and ε are moved, the third is found, and everything follows.

import { write } from "./address.js";
import { Asking, Canceled, Newest, Refused } from "./api.js";
import { behind, FrontierChart, NoiseChart, SampleChart } from "./charts.js";
import { copied, emphasized, h, save, tell } from "./dom.js";
import { ChoiceField, NumberField, refuse, SelectField, SwitchField, toMistake } from "./fields.js";
import * as numbers from "./numbers.js";

const START = {
  solve: "epsilon", kind: "absolute", within: "5", percent: "5", plus: "10", low: "0", high: "100", scale: "",
  confidence: "0.9", epsilon: "1", sensitivity: "1", delta: "1e-6", releases: "1", step: "", answer: "",
  integer: true, nonnegative: false, simultaneous: false, neighbors: "add/remove", seed: "1",
};
const FOUND = { epsilon: "least ε", confidence: "confidence", within: "width" };
const KINDS = { absolute: "absolute", relative: "relative", range: "range" };
const WIDTHS = { absolute: ["within"], relative: ["percent", "plus"], range: ["low", "high", "within", "scale"] };
const SHOWN_FAMILIES = 9;
// What is on the axis of the frontier: its name, and what either end means.
const AXES = {
  within: ["width", "closer: less private", "wider: more private"],
  plus: ["width: the percentage plus …", "closer: less private", "wider: more private"],
  scale: ["noise scale", "less noise: less private", "more noise: more private"],
};
const FRONTIER = [0.12, 0.17, 0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4, 5.6, 8];
const TAKEN = { "plan.json": "Plan (JSON)", "plan.svg": "Pictures (SVG)", "plan.png": "Pictures (PNG)", "certificate.html": "Certificate (HTML)" };
const MOST_KEPT = 600;

export default class Explore {
  #state = { ...START };
  #found = null;
  #points = new Map();
  #round = 0;

  constructor(about) {
    this.about = about;
    for (const one of about.more) START[one.name] = one.kind === "truth" ? Boolean(one.default) : String(one.default ?? "");
    const change = (name) => (value) => this.#change(name, value);
    const number = (name, label, more) => new NumberField({ name, label, change: change(name), ...more });
    this.fields = {
      solve: new ChoiceField({
        name: "solve", label: "Find", change: change("solve"),
        choices: FOUND,
      }),
      kind: new ChoiceField({
        name: "kind", label: "Width", change: change("kind"),
        choices: KINDS,
      }),
      within: number("within", "Within", {
        hint: "how far from the truth a number may be", values: numbers.WHOLE_WIDTHS,
        ends: ["closer: less private", "wider: more private"],
      }),
      percent: number("percent", "Percentage", {
        unit: "%", hint: "of the truth …", values: numbers.PERCENTS, ends: ["closer: less private", "wider: more private"],
      }),
      plus: number("plus", "Plus", {
        hint: "… and this much, which is all that counts near 0", values: numbers.WIDTHS,
        ends: ["closer: less private", "wider: more private"],
      }),
      low: number("low", "From", { hint: "answers are kept between …" }),
      high: number("high", "To", { hint: "… and" }),
      scale: number("scale", "Noise scale", {
        hint: "instead of a width (leave that empty)", placeholder: "none", values: numbers.WIDTHS,
        ends: ["less: less private", "more: more private"],
      }),
      confidence: number("confidence", "Confidence", {
        hint: "how often it must be that close", values: numbers.CONFIDENCES,
        ends: ["50 %: more private", "99.99 %: less private"],
      }),
      epsilon: number("epsilon", "ε, privacy loss", {
        values: numbers.EPSILONS, ends: ["more private", "less private"],
      }),
      sensitivity: number("sensitivity", "Sensitivity", {
        hint: "largest change by one person; 1 for a count", values: numbers.SENSITIVITIES,
        ends: ["easier to hide", "harder to hide: more ε"],
      }),
      delta: number("delta", "δ", {
        hint: "how often ε may fail; far below 1 / people", values: numbers.DELTAS,
        ends: ["stricter: a little more ε", "laxer: a little less ε"],
      }),
      releases: number("releases", "Releases", {
        hint: "numbers one person affects; ε is the total", values: numbers.COUNTS,
        ends: ["one: least ε", "many: more ε"],
      }),
      integer: new SwitchField({ name: "integer", label: "Answers are whole numbers", change: change("integer") }),
      nonnegative: new SwitchField({ name: "nonnegative", label: "Answers are 0 or more", change: change("nonnegative") }),
      simultaneous: new SwitchField({
        name: "simultaneous", label: "Confidence is joint for all releases", change: change("simultaneous"),
      }),
      neighbors: new SelectField({
        name: "neighbors", label: "Neighbors: one person is", change: change("neighbors"),
        options: about.neighbors,
      }),
      step: number("step", "Step", { hint: "the grid for real answers", placeholder: "found" }),
      answer: number("answer", "Made-up true answer", {
        hint: "any number you like: not one of your data", placeholder: "1000",
      }),
    };
    for (const { name, help, kind, choices } of about.more) {
      const label = name.replaceAll("_", " ");
      if (kind === "truth") this.fields[name] = new SwitchField({ name, label: help, change: change(name) });
      else if (choices.length) this.fields[name] = new SelectField({ name, label, hint: help, change: change(name), options: choices });
      else this.fields[name] = number(name, label, { hint: help });
    }
    this.plan = new Newest("/api/plan", {
      show: (found, body) => this.#show(found, body),
      refuse: (error) => this.#refuse(error),
      progress: (told) => this.#progress(told),
    });
    this.sample = new Newest("/api/sample", {
      show: (found) => this.#showSample(found),
      refuse: () => this.samples.replaceChildren(),
    });
    this.price = new Newest("/api/price", {
      show: (found) => this.#showPrices(found),
      refuse: (error) => this.prices.replaceChildren(h("p", { class: "mistake" }, error.message)),
    });
    this.#build();
  }

  /** The view with the state of an address. */
  open(state) {
    this.#state = { ...START };
    for (const [name, value] of Object.entries(state)) {
      if (Object.hasOwn(START, name)) this.#state[name] = typeof START[name] === "boolean" ? value === "true" : value;
    }
    // an address may be old, or typed
    if (!Object.hasOwn(FOUND, this.#state.solve)) this.#state.solve = START.solve;
    if (!Object.hasOwn(KINDS, this.#state.kind)) this.#state.kind = START.kind;
    this.#arrange();
    this.#ask();
  }

  /** The view as it was left. */
  back() {
    this.#locate();
    this.#ask();
  }

  // ---- what is typed

  #change(name, value) {
    this.#state[name] = value;
    this.#arrange();
    this.#ask();
  }

  /** Fields follow the state: which are there, which one is found. */
  #arrange() {
    const state = this.#state;
    const { fields } = this;
    for (const [name, field] of Object.entries(fields)) field.value = state[name];
    const shown = WIDTHS[state.kind];
    for (const name of new Set(Object.values(WIDTHS).flat())) fields[name].hidden = !shown.includes(name);
    fields.scale.hidden = state.kind !== "range" || state.solve === "within";
    fields.nonnegative.hidden = state.kind !== "relative";
    fields.simultaneous.hidden = !(Number.parseFloat(state.releases) > 1);
    fields.step.hidden = state.integer;
    fields.within.offer(state.integer ? numbers.WHOLE_WIDTHS : numbers.WIDTHS);
    const sought = state.solve === "within" && state.kind === "relative" ? "plus" : state.solve;
    for (const name of ["within", "plus", "percent", "confidence", "epsilon"]) fields[name].found = name === sought;
    this.percentNote.hidden = !(state.solve === "within" && state.kind === "relative");
    this.rangeNote.hidden = this.#axis() !== "scale";
    this.#locate();
  }

  /** The state goes into the address, without what is found from it. */
  #locate() {
    const state = this.#state;
    const kept = ["solve", "kind", ...WIDTHS[state.kind], "confidence", "epsilon", "sensitivity", "delta", "releases",
      "integer", "neighbors", "answer", "seed", ...this.about.more.map((one) => one.name)];
    if (state.kind === "relative") kept.push("nonnegative");
    if (Number.parseFloat(state.releases) > 1) kept.push("simultaneous");
    if (!state.integer) kept.push("step");
    const sought = state.solve === "within" ? { absolute: "within", relative: "plus", range: "within" }[state.kind] : state.solve;
    write("explore", Object.fromEntries(kept.filter((name) => name !== sought && state[name] !== "").map((name) => [name, state[name]])));
  }

  /** What the studio is asked: the fields that count. */
  #form(changes = {}) {
    const state = { ...this.#state, ...changes };
    const { seed: _, ...form } = state;
    for (const name of new Set(Object.values(WIDTHS).flat())) {
      if (!WIDTHS[state.kind].includes(name)) delete form[name];
    }
    if (state.integer) delete form.step;
    if (state.kind !== "relative") delete form.nonnegative;
    if (!(Number.parseFloat(state.releases) > 1)) delete form.simultaneous;
    return form;
  }

  #ask() {
    this.#round += 1;
    if (this.frontierAsking?.long) this.frontierAsking.cancel();
    this.plan.ask({ requirement: this.#form() });
  }

  // ---- what comes back

  #show(found, body) {
    this.#found = found;
    this.#state[found.found.field] = found.found.text;
    this.fields[found.found.field].value = found.found.text;
    refuse(Object.values(this.fields), []);
    this.trouble.replaceChildren();
    this.results.classList.remove("stale");
    this.results.hidden = false;
    this.sentence.replaceChildren(...emphasized(found.sentence));
    this.risk.textContent = found.risk;
    this.remarks.replaceChildren(...found.statement.warnings.map(({ text, remedy }) => h("p", { class: "remark" }, `${text} ${remedy}`.trim())));
    this.summary.replaceChildren(h("b", {}, `ε ${found.epsilon_text}`), ` ${found.mechanism}`,
      h("span", {}, `${found.requirement}, ${found.confidence_text}`));
    this.noise.show({ law: found.law, inside: found.confidence_text });
    this.noise.label = `${found.mechanism} noise around ${found.law.answer}: ${found.requirement} ${found.confidence_text} of the time`;
    this.fields.answer.input.placeholder = numbers.typed(found.law.answer);
    this.noiseTitle.textContent = `What is published when the truth is ${numbers.exact(found.law.answer)}`;
    this.#fold(this.noiseTable, "The probabilities behind this picture", ["published number", "probability", "meets the requirement"],
      found.law.output.map((output, place) => [numbers.exact(output), found.law.probability[place].toPrecision(4), found.law.inside[place] ? "yes" : "no"]));
    this.#families(found);
    this.why.replaceChildren(...found.why.map((words) => h("li", {}, words)));
    this.lines.replaceChildren(copied("Python", found.python), copied("Command line", found.command));
    tell(found.sentence);
    this.sample.ask({ requirement: body.requirement, seed: Math.max(0, Math.trunc(Number(this.#state.seed)) || 0) });
    if (this.about.ledger) this.price.ask({ requirement: body.requirement });
    this.#frontier(found, body.requirement);
  }

  #refuse(error) {
    this.results.classList.add("stale");
    if (error instanceof Canceled) {
      this.#explain(["Canceled. Change something to ask again."]);
      return;
    }
    const left = refuse(Object.values(this.fields), error.errors);
    this.#explain(left, left.length < error.errors.length);
    tell(error.message);
  }

  /** Why there is nothing new: what is said here, and whether a field says more. */
  #explain(words, marked = false) {
    this.trouble.replaceChildren(...words.map((message) => h("p", { class: "mistake" }, message)),
      ...(marked ? [h("p", { class: "warning marked" }, "What is wrong is said beside its field.", toMistake(this.element))] : []), ...this.#past());
    // a narrow screen shows no more than this of the result
    this.summary.replaceChildren(h("span", {}, words[0] ?? "What is wrong is said beside its field."));
  }

  /** What is shown below, while there is nothing new to show. */
  #past() {
    return this.#found ? [h("p", { class: "warning" }, `Below is what was asked before: ${this.#found.requirement}.`)] : [];
  }

  #progress(told) {
    this.wait.hidden = told === null;
    if (told === null) return;
    this.waited.textContent = `Planning, ${told.seconds.toFixed(0)} s`;
    // mistakes were those of what was asked before, as is what is shown below
    refuse(Object.values(this.fields), []);
    this.trouble.replaceChildren(...this.#past());
    this.results.classList.add("stale");
  }

  /** Every noise that was certified, as bars on one scale, with the limit. */
  #families(found) {
    const most = Math.max(...found.families.map((family) => family.epsilon)) || 1;
    const rows = found.families.map((family) => h("tr", { class: family.chosen ? "chosen" : null },
      h("th", { scope: "row" }, family.name, family.chosen ? h("span", { class: "tag" }, "chosen") : null),
      h("td", { class: "bar" }, bar(family.epsilon / most, found.limit && found.limit.epsilon / most)),
      h("td", { class: "number" }, family.epsilon_text)));
    const limit = found.limit && h("tr", { class: "limit" },
      h("th", { scope: "row" }, "Proven limit"),
      h("td", { class: "bar" }, bar(found.limit.epsilon / most, found.limit.epsilon / most)),
      h("td", { class: "number" }, found.limit.epsilon_text));
    const open = this.families.querySelector("button")?.getAttribute("aria-expanded") === "true";
    const extra = rows.slice(SHOWN_FAMILIES);
    const more = extra.length
      ? h("button", {
        type: "button", class: "small", "aria-expanded": String(open),
        onclick: () => {
          const now = more.getAttribute("aria-expanded") !== "true";
          more.setAttribute("aria-expanded", String(now));
          more.textContent = now ? "Show fewer" : `Show all ${rows.length}`;
          for (const row of extra) row.hidden = !now;
        },
      }, open ? "Show fewer" : `Show all ${rows.length}`)
      : null;
    for (const row of extra) row.hidden = !open;
    this.families.replaceChildren(...[
      h("table", { class: "families" },
        h("caption", { class: "unseen" }, "ε of every noise that meets the requirement; smaller is more private"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Noise"),
          h("th", { scope: "col", class: "ends" }, h("span", {}, "← more private"), h("span", {}, "less private →")),
          h("th", { scope: "col", class: "number" }, "ε"))),
        h("tbody", {}, ...[limit, ...rows].filter(Boolean))),
      more,
      h("p", { class: "hint" }, found.limit?.words ?? "No limit is proved for this kind of requirement."),
    ].filter(Boolean));
  }

  // ---- the frontier

  /** The field on the horizontal axis. */
  #axis() {
    const { kind, scale, within } = this.#state;
    if (kind === "relative") return "plus";
    return kind === "range" && within === "" && scale !== "" ? "scale" : "within";
  }

  /** A round width near this one, whole where answers are. */
  #roundWidth(width) {
    const near = numbers.FAR_WIDTHS[numbers.nearest(numbers.FAR_WIDTHS, width)];
    return this.#state.integer ? Math.max(1, Math.round(near)) : near;
  }

  /** Points near the present width, nearest first; those that are known are kept. */
  async #frontier(found, requirement) {
    const round = this.#round;
    const axis = this.#axis();
    const own = Number.parseFloat(this.#state[axis]);
    const fixed = { ...requirement, solve: "epsilon", confidence: found.confidence, answer: "" };
    delete fixed[axis];
    delete fixed.epsilon;
    const key = JSON.stringify(fixed);
    const widths = [...new Set(FRONTIER.map((factor) => this.#roundWidth(own * factor)))];
    if (this.#points.size > MOST_KEPT) this.#points.clear();
    const known = (width) => this.#points.get(`${key} ${width}`);
    const drawn = () => this.#drawFrontier(axis, own, found, widths.filter((width) => known(width)?.families).map((width) => [width, known(width)]));
    drawn();
    widths.sort((one, other) => Math.abs(Math.log(one / own)) - Math.abs(Math.log(other / own)));
    for (const width of widths) {
      if (known(width)) continue;
      if (round !== this.#round) return;
      try {
        const asking = new Asking("/api/plan", { requirement: { ...fixed, [axis]: String(width) }, detail: "losses" });
        this.frontierAsking = asking;
        this.#points.set(`${key} ${width}`, await (await asking.answer).json());
      } catch (error) {
        if (!(error instanceof Refused || error instanceof Canceled)) throw error;
        // a width that nothing is certified for has no point
        if (error instanceof Refused && error.status === 422) this.#points.set(`${key} ${width}`, {});
      }
      if (round !== this.#round) return;
      drawn();
    }
  }

  #drawFrontier(axis, own, found, points) {
    const sorted = [...points, ...(Number.isFinite(own) && own > 0 && !points.some(([width]) => width === own) ? [[own, found]] : [])]
      .sort((one, other) => one[0] - other[0]);
    // "Gaussian, decoded" is Gaussian noise too; the least comes first
    const family = (point, name) => point.families.find((one) => one.name.split(",")[0] === name);
    const of = (name) => sorted.map(([width, point]) => [width, family(point, name)?.epsilon]).filter(([, epsilon]) => epsilon > 0);
    const curves = [
      { name: "Gaussian", kind: "gaussian", points: of("Gaussian") },
      { name: "Laplace", kind: "laplace", points: of("Laplace") },
      { name: "limit", kind: "limit", points: sorted.map(([width, point]) => [width, point.limit?.epsilon]).filter(([, epsilon]) => epsilon > 0) },
      { name: "least ε", kind: "least", points: sorted.map(([width, point]) => [width, point.epsilon]).filter(([, epsilon]) => epsilon > 0) },
    ];
    const [words, ...ends] = AXES[axis];
    this.frontierTitle.textContent = `ε against the ${words.split(":")[0]}`;
    this.frontier.show({ curves, own: own > 0 && found.epsilon > 0 ? [own, found.epsilon] : null, words, ends });
    this.frontier.label = `ε against the ${words}: ${sorted.map(([width, point]) => `${width} takes ${point.epsilon_text}`).join(", ")}`;
    this.#fold(this.frontierTable, "The numbers behind this picture", [words, "least ε", "noise", "Gaussian", "Laplace", "limit"],
      sorted.map(([width, point]) => [
        numbers.exact(width), point.epsilon_text, point.families.find((one) => one.chosen)?.name ?? "",
        ...["Gaussian", "Laplace"].map((name) => family(point, name)?.epsilon_text ?? "–"),
        point.limit?.epsilon_text ?? "–",
      ]));
  }

  /** The dot was moved to another width. */
  #move(width) {
    const axis = this.#axis();
    const state = this.#state;
    if (state.solve === "within") state.solve = "epsilon";
    const text = numbers.typed(this.#roundWidth(width));
    if (text !== state[axis]) this.#change(axis, text);
  }

  // ---- samples, prices, files

  #showSample(found) {
    this.sampleChart.show(found);
    this.sampleChart.label = `${found.notice} ${found.words}`;
    this.samples.replaceChildren(h("p", {}, found.words), h("p", { class: "warning" }, found.notice));
  }

  #showPrices({ prices }) {
    this.prices.replaceChildren(...(prices.length
      ? prices.map((price) => h("div", { class: "price" },
        h("h3", {}, price.dataset), meter(price.before, price.after), h("p", {}, price.words)))
      : [h("p", {}, "The ledger has no dataset yet.")]));
  }

  #fold(place, summary, heads, rows) {
    const open = place.querySelector("details")?.open ?? false;
    const made = behind(summary, heads, rows);
    made.open = open;
    place.replaceChildren(made);
  }

  async #take(name, button) {
    button.disabled = true;
    this.taken.replaceChildren();
    const asking = new Asking("/api/take", { requirement: this.#form(), what: name }, (told) => {
      button.classList.toggle("busy", told !== null);
    });
    try {
      save(await (await asking.answer).blob(), name);
      tell(`${name} saved`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.taken.replaceChildren(h("p", { class: "mistake" }, error.message));
    } finally {
      button.disabled = false;
    }
  }

  // ---- the page

  #build() {
    const { fields } = this;
    const box = (...names) => names.map((name) => fields[name].element);
    this.percentNote = h("p", { class: "hint", hidden: true }, "What is added to the percentage is found.");
    this.rangeNote = h("p", { class: "warning", hidden: true },
      "A range alone promises little: clamping keeps numbers inside for nothing, however far off they are. Give a width to promise more.");
    this.frontierTitle = h("h2", {}, "ε against the width");
    this.sentence = h("p", { class: "sentence", id: "sentence" });
    this.risk = h("p", { class: "risk" });
    this.remarks = h("div", {});
    this.trouble = h("div", { class: "trouble", role: "alert" });
    this.waited = h("span", {});
    this.wait = h("div", { class: "wait", hidden: true }, h("span", { class: "spin", "aria-hidden": "true" }), this.waited,
      h("button", { type: "button", class: "small", onclick: () => this.plan.cancel() }, "Cancel"));
    this.noise = new NoiseChart();
    this.noiseTitle = h("h2", {}, "Noise");
    this.noiseTable = h("div", {});
    this.families = h("div", {});
    this.frontier = new FrontierChart((width) => this.#move(width));
    this.frontierTable = h("div", {});
    this.sampleChart = new SampleChart();
    this.samples = h("div", {});
    this.prices = h("div", { class: "prices" });
    this.why = h("ul", { class: "why" });
    this.lines = h("div", { class: "lines" });
    this.taken = h("div", { role: "alert" });
    this.summary = h("p", { class: "summary", "aria-hidden": "true" });
    const files = Object.entries(TAKEN).map(([name, words]) => {
      const button = h("button", { type: "button", onclick: () => this.#take(name, button) }, words);
      return button;
    });
    this.results = h("div", { class: "results", hidden: true },
      h("section", { class: "card wide", "aria-labelledby": "sentence" }, this.sentence, this.risk, this.remarks),
      h("section", { class: "card" }, this.noiseTitle, fields.answer.element, this.noise.element, this.noiseTable),
      h("section", { class: "card" }, h("h2", {}, "ε for every noise"), this.families),
      h("section", { class: "card" }, this.frontierTitle, this.frontier.element,
        h("p", { class: "hint" }, "Drag the dot, or move its slider."), this.frontierTable),
      h("section", { class: "card" },
        h("h2", {}, "What 100 releases would look like"), this.sampleChart.element, this.samples,
        h("button", {
          type: "button",
          onclick: () => { this.#state.seed = String((Number(this.#state.seed) || 0) + 1); this.#locate(); this.sample.ask({ requirement: this.#form(), seed: Number(this.#state.seed) }); },
        }, "Simulate another 100")),
      this.about.ledger ? h("section", { class: "card wide" }, h("h2", {}, "In your budgets"), this.prices,
        h("p", { class: "hint" }, "Prices only: nothing is spent here.")) : null,
      h("section", { class: "card wide" }, h("h2", {}, "Take it away"), h("div", { class: "buttons" }, files), this.taken, this.lines),
      h("section", { class: "card wide" }, h("details", {}, h("summary", {}, "Why this noise"), this.why)));
    this.element = h("div", { class: "explore" },
      h("h1", { class: "unseen" }, "Explore accuracy against privacy"),
      h("form", { class: "card controls", "aria-label": "Requirement", onsubmit: (event) => event.preventDefault() },
        ...box("solve"),
        h("div", { class: "group" }, ...box("kind", "percent", "plus"), this.percentNote, ...box("low", "high", "within", "scale"), this.rangeNote, ...box("nonnegative")),
        h("div", { class: "group" }, ...box("confidence", "epsilon")),
        h("div", { class: "group" }, ...box("sensitivity", "integer", "step")),
        h("div", { class: "group" }, ...box("delta", "releases", "simultaneous")),
        h("details", { class: "group" }, h("summary", {}, "More"), ...box("neighbors", ...this.about.more.map((one) => one.name)))),
      h("div", { class: "output" }, this.trouble, this.wait, this.results),
      this.summary);
  }
}

/** A bar of a share of the whole, with a mark where the limit is. */
function bar(share, limit) {
  const full = h("span", { class: "fill" });
  full.style.width = `${100 * share}%`;
  const mark = limit ? h("span", { class: "mark" }) : null;
  if (mark) mark.style.left = `${100 * limit}%`;
  return h("span", { class: "track" }, full, mark);
}

/** What is spent of a budget, and what a plan would add. */
export function meter(before, after) {
  const spent = h("span", { class: "spent" });
  spent.style.width = `${100 * Math.min(before, 1)}%`;
  const added = h("span", { class: "added" });
  added.style.width = `${100 * Math.max(0, Math.min(after ?? before, 1) - Math.min(before, 1))}%`;
  return h("span", { class: "meter", "aria-hidden": "true" }, spent, added);
}
