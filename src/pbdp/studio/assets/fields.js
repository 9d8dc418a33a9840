// Fields of a form: a number with its slider, a choice, a switch; each with a place for its mistake.

import { h } from "./dom.js";
import { nearest, typed } from "./numbers.js";

let made = 0;

/** A field: its element, its value, its mistake. `change` is called with the new value. */
class Field {
  constructor(name) {
    this.name = name;
    this.id = `field-${(made += 1)}`;
    this.mistake = h("p", { class: "mistake", id: `${this.id}-mistake`, hidden: true });
  }

  /** Show what is wrong beside the field, or nothing. */
  refuse(message) {
    this.mistake.textContent = message ?? "";
    this.mistake.hidden = !message;
    for (const control of this.controls) {
      const others = (control.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id && id !== this.mistake.id);
      const described = message ? [...others, this.mistake.id] : others;
      if (described.length) control.setAttribute("aria-describedby", described.join(" "));
      else control.removeAttribute("aria-describedby");
      if (message) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  }

  set hidden(value) {
    this.element.hidden = value;
  }

  get hidden() {
    return this.element.hidden;
  }
}

/** A number that is typed or, with `values`, moved; `ends` say what either end means. */
export class NumberField extends Field {
  constructor({ name, label, hint, values = null, ends = null, unit = "", placeholder = "", change }) {
    super(name);
    this.change = change;
    this.unit = unit;
    this.input = h("input", {
      id: this.id, type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false",
      placeholder, name, "aria-describedby": hint ? `${this.id}-hint` : null,
      oninput: () => { this.#follow(); change(this.input.value); },
    });
    this.controls = [this.input];
    this.element = h("div", { class: "field", "data-field": name },
      h("div", { class: "line" },
        h("label", { for: this.id }, label),
        h("span", { class: "box" }, this.input, unit ? h("span", { class: "unit", "aria-hidden": "true" }, unit) : null)),
      hint ? h("p", { class: "hint", id: `${this.id}-hint` }, hint) : null);
    if (values) this.#slide(label, values, ends);
    this.element.append(this.mistake);
  }

  #slide(label, values, ends) {
    this.values = values;
    this.slider = h("input", {
      type: "range", min: 0, max: values.length - 1, step: 1, "aria-label": `${label}, slider`,
      "aria-describedby": ends ? `${this.id}-ends` : null,
      oninput: () => {
        this.input.value = typed(this.values[this.slider.value]);
        this.#say();
        this.change(this.input.value);
      },
    });
    this.controls.push(this.slider);
    this.element.append(this.slider);
    if (ends) {
      this.element.append(h("p", { class: "ends", id: `${this.id}-ends` }, h("span", {}, ends[0]), h("span", {}, ends[1])));
    }
  }

  #follow() {
    if (!this.slider) return;
    this.slider.value = nearest(this.values, Number.parseFloat(this.input.value));
    this.#say();
  }

  #say() {
    this.slider.setAttribute("aria-valuetext", `${this.input.value}${this.unit ? ` ${this.unit}` : ""}`);
    const share = this.slider.value / Math.max(1, this.values.length - 1);
    this.slider.style.setProperty("--share", `${100 * share}%`);
  }

  /** Other numbers for the slider, such as whole ones. */
  offer(values) {
    if (this.values === values) return;
    this.values = values;
    this.slider.max = values.length - 1;
    this.#follow();
  }

  get value() {
    return this.input.value;
  }

  set value(text) {
    if (this.input.value !== text) this.input.value = text;
    this.#follow();
  }

  /** A number that is found, not given. */
  set found(is) {
    this.input.readOnly = is;
    this.element.classList.toggle("found", is);
    if (this.slider) this.slider.disabled = is;
  }
}

/** One of a few, side by side. */
export class ChoiceField extends Field {
  constructor({ name, label, choices, change, quiet = false }) {
    super(name);
    this.controls = Object.entries(choices).map(([value, words], place) => h("input", {
      type: "radio", name: `${this.id}-${name}`, value, id: `${this.id}-${place}`, onchange: () => change(value),
    }));
    this.element = h("fieldset", { class: "choice", "data-field": name },
      h("legend", { class: quiet ? "unseen" : null }, label),
      h("div", { class: "segments" }, this.controls.map((control, place) => h("span", {},
        control, h("label", { for: control.id }, Object.values(choices)[place])))),
      this.mistake);
  }

  get value() {
    return this.controls.find((control) => control.checked)?.value;
  }

  set value(value) {
    for (const control of this.controls) control.checked = control.value === value;
  }
}

/** On or off. */
export class SwitchField extends Field {
  constructor({ name, label, hint, change }) {
    super(name);
    this.input = h("input", {
      type: "checkbox", id: this.id, name, onchange: () => change(this.input.checked),
      "aria-describedby": hint ? `${this.id}-hint` : null,
    });
    this.controls = [this.input];
    this.element = h("div", { class: "field switch", "data-field": name },
      h("div", { class: "line" }, this.input, h("label", { for: this.id }, label)),
      hint ? h("p", { class: "hint", id: `${this.id}-hint` }, hint) : null, this.mistake);
  }

  get value() {
    return this.input.checked;
  }

  set value(value) {
    this.input.checked = value;
  }
}

/** One of a list; texts, or pairs of value and words. */
export class SelectField extends Field {
  constructor({ name, label, hint, options, change }) {
    super(name);
    this.input = h("select", {
      id: this.id, name, onchange: () => change(this.input.value), "aria-describedby": hint ? `${this.id}-hint` : null,
    }, options.map((option) => {
      const [value, words] = Array.isArray(option) ? option : [option, option];
      return h("option", { value }, words);
    }));
    this.controls = [this.input];
    this.element = h("div", { class: "field", "data-field": name },
      h("div", { class: "line" }, h("label", { for: this.id }, label), this.input),
      hint ? h("p", { class: "hint", id: `${this.id}-hint` }, hint) : null, this.mistake);
  }

  get value() {
    return this.input.value;
  }

  set value(value) {
    this.input.value = value;
  }
}

/** A text of any length. */
export class TextField extends Field {
  constructor({ name, label, hint, placeholder = "", list = null, change }) {
    super(name);
    this.input = h("input", {
      id: this.id, type: "text", autocomplete: "off", spellcheck: "false", placeholder, name, list,
      "aria-describedby": hint ? `${this.id}-hint` : null, oninput: () => change(this.input.value),
    });
    this.controls = [this.input];
    this.element = h("div", { class: "field text", "data-field": name },
      h("label", { for: this.id }, label), this.input,
      hint ? h("p", { class: "hint", id: `${this.id}-hint` }, hint) : null, this.mistake);
  }

  get value() {
    return this.input.value;
  }

  set value(value) {
    if (this.input.value !== value) this.input.value = value;
  }
}

/** A button that leads to the first field with a mistake. */
export function toMistake(place) {
  return h("button", { type: "button", class: "small", onclick: () => place.querySelector('[aria-invalid="true"]')?.focus() }, "Go to it");
}

/** Put mistakes beside their fields; those of no field that is shown are returned. */
export function refuse(fields, errors) {
  const left = [];
  const told = new Map();
  for (const { field, message } of errors) {
    const own = fields.find((one) => one.name === field && !one.element.closest("[hidden]"));
    if (own) told.set(own, message);
    else left.push(message);
  }
  for (const field of fields) field.refuse(told.get(field));
  for (const field of told.keys()) {
    const folded = field.element.closest("details");
    if (folded) folded.open = true;
  }
  return left;
}
