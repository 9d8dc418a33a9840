// Charts as drawings of this page: text in the page's own size, a name and a table for those who cannot see them.

import { h, s } from "./dom.js";
import { apart, brief, scale, ticks } from "./numbers.js";

// Pixels of a digit.
const DIGIT = 7;

/** A drawing that is made anew for every width of its place. */
export class Chart {
  constructor({ height, label }) {
    this.height = height;
    this.svg = s("svg", { class: "chart", role: "img", "aria-label": label });
    this.element = h("div", { class: "chart-box" }, this.svg);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    const width = Math.floor(this.element.clientWidth);
    if (!this.data || width < 40) return;
    const tall = typeof this.height === "function" ? this.height(this.data, width) : this.height;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", tall);
    this.svg.replaceChildren(...this.drawn(this.data, width, tall));
  }

  set label(words) {
    this.svg.setAttribute("aria-label", words);
  }
}

/** Text in a drawing. */
export function text(x, y, words, { anchor = "start", kind = "" } = {}) {
  return s("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, class: kind || null }, words);
}

/** A line from here to there. */
export function line(x1, y1, x2, y2, kind) {
  return s("line", { x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1), class: kind });
}

function bottomAxis(x, low, high, left, right, floor, { log = false, words = "" } = {}) {
  const [values, texts] = roomy(x, low, high, right - left, log);
  // those at an end stay inside
  const inside = (at, half) => Math.min(Math.max(at, left + half - 8), right - half + 8);
  return [
    line(left, floor, right, floor, "axis"),
    ...values.flatMap((value, place) => [
      line(x(value), floor, x(value), floor + 4, "axis"),
      text(inside(x(value), (texts[place].length * DIGIT) / 2), floor + 17, texts[place], { anchor: "middle", kind: "tick" }),
    ]),
    words ? text((left + right) / 2, floor + 35, words, { anchor: "middle", kind: "words" }) : null,
  ];
}

/** As many round numbers as have room for their digits. */
function roomy(x, low, high, room, log) {
  for (let about = Math.max(2, Math.floor(room / 80)); about > 0; about -= 1) {
    const values = ticks(low, high, about, log);
    const texts = apart(values);
    const gap = Math.min(room, ...values.slice(1).map((value, place) => x(value) - x(values[place])));
    if (Math.max(...texts.map((one) => one.length)) * DIGIT + 8 <= gap) return [values, texts];
  }
  const middle = ticks(low, high, 2, log).slice(0, 1);
  return [middle, apart(middle)];
}

/** The law of the noise around an answer: columns on a shade that meets the requirement. */
export class NoiseChart extends Chart {
  constructor() {
    super({ height: (_, width) => (width < 500 ? 230 : 270), label: "The noise" });
  }

  drawn({ law, inside }, width, tall) {
    const [left, right, top, floor] = [8, width - 8, 34, tall - 44];
    const half = law.output.length > 1 ? (law.output[1] - law.output[0]) / 2 : 0.5;
    const low = law.output[0] - half;
    const high = law.output.at(-1) + half;
    const x = scale(low, high, left, right);
    const y = scale(0, 1.04 * Math.max(...law.probability), floor, top);
    const from = Math.max(x(Math.max(law.low - (law.size === 1 ? half : 0), low)), left);
    const to = Math.min(x(Math.min(law.high + (law.size === 1 ? half : 0), high)), right);
    const each = Math.max(1, (x(high) - x(low)) / law.output.length);
    const middle = Math.min(Math.max((from + to) / 2, left + 105), right - 105);
    return [
      s("rect", { x: from, y: top - 8, width: Math.max(0, to - from), height: floor - top + 8, class: "region" }),
      text(middle, top - 14, `meets the requirement: ${inside === "100 %" ? "always" : `at least ${inside}`}`, { anchor: "middle", kind: "region-words" }),
      ...law.output.map((output, place) => s("rect", {
        x: (x(output) - 0.42 * each).toFixed(2), y: y(law.probability[place]).toFixed(2),
        width: Math.max(0.84 * each, 0.6).toFixed(2), height: Math.max(0, floor - y(law.probability[place])).toFixed(2),
        class: law.inside[place] ? "inside" : "outside",
      })),
      line(x(law.answer), floor, x(law.answer), floor + 6, "truth"),
      ...bottomAxis(x, low, high, left, right, floor, { words: "published number" }),
    ];
  }
}


/** Epsilon against the width: the least, two that readers know, and the limit. The dot can be moved. */
export class FrontierChart extends Chart {
  #x = null;

  constructor(move) {
    super({ height: (_, width) => (width < 500 ? 300 : 340), label: "Epsilon against the width" });
    const moved = (event) => {
      const box = this.svg.getBoundingClientRect();
      if (this.#x) move(this.#x.invert(event.clientX - box.left));
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.#x) return;
      this.svg.setPointerCapture(event.pointerId);
      moved(event);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (this.svg.hasPointerCapture(event.pointerId)) moved(event);
    });
  }

  drawn({ curves, own, words, ends: [closer, wider] }, width, tall) {
    const narrow = width < 430;
    const [left, right, top, floor] = [46, width - 74, 26, tall - (narrow ? 80 : 66)];
    const points = [...curves.flatMap((curve) => curve.points), ...(own ? [own] : [])];
    if (!points.length) return [];
    const xs = points.map((point) => point[0]);
    const ys = points.map((point) => point[1]).filter((value) => value > 0);
    const [low, high] = [Math.min(...xs), Math.max(...xs)];
    const [least, most] = [Math.min(...ys) * 0.85, Math.max(...ys) * 1.15];
    const x = scale(low * 0.97, high * 1.03, left, right, true);
    const y = scale(least, most, floor, top, true);
    this.#x = x;
    const drawn = curves.filter((curve) => curve.points.length);
    const names = drawn.map(({ name, kind, points: all }) => ({ name, kind, from: x(all.at(-1)[0]), at: y(all.at(-1)[1]) }))
      .sort((one, other) => one.at - other.at);
    // one below the other, and none below the axis
    for (let place = 1; place < names.length; place += 1) names[place].at = Math.max(names[place].at, names[place - 1].at + 15);
    for (let place = names.length - 1, most = floor - 6; place >= 0; place -= 1, most -= 15) names[place].at = Math.min(names[place].at, most);
    return [
      ...ticks(least, most, 6, true).flatMap((value) => [
        line(left, y(value), right, y(value), "grid"),
        text(left - 6, y(value) + 4, brief(value), { anchor: "end", kind: "tick" }),
      ]),
      ...bottomAxis(x, low * 0.97, high * 1.03, left, right, floor, { log: true, words }),
      text(left, floor + 54, `← ${closer}`, { kind: "meaning" }),
      text(right, floor + (narrow ? 72 : 54), `${wider} →`, { anchor: "end", kind: "meaning" }),
      text(4, 13, "ε  ↑ less private", { kind: "meaning" }),
      text(left + 6, floor - 8, "↓ more private", { kind: "meaning" }),
      ...drawn.map((curve) => s("path", {
        class: `curve ${curve.kind}`,
        d: curve.points.map(([a, b], place) => `${place ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(""),
      })),
      ...names.map(({ name, kind, from, at }) => text(from + 6, at + 4, name, { kind: `name ${kind}` })),
      own ? s("circle", { cx: x(own[0]), cy: y(own[1]), r: 14, class: "grip" }) : null,
      own ? s("circle", { cx: x(own[0]), cy: y(own[1]), r: 6.5, class: "own" }) : null,
    ];
  }
}

/** A hundred simulated releases as dots, those outside of the requirement hollow. */
export class SampleChart extends Chart {
  constructor() {
    super({ height: (data, width) => this.constructor.tall(data, width), label: "Simulated releases" });
  }

  static bins(data, width) {
    let size = width < 500 ? 9 : 12;
    const room = Math.floor((width - 24) / size);
    let low = Math.min(...data.values, data.answer);
    let high = Math.max(...data.values, data.answer);
    // a requirement that is far wider than the noise would leave a spike
    const margin = 0.6 * (high - low) + 1e-9;
    if (low - data.low < margin) low = Math.min(low, data.low);
    if (data.high - high < margin) high = Math.max(high, data.high);
    const whole = data.values.every(Number.isInteger);
    if (whole) low = Math.ceil(low);
    const span = high - low || 1;
    const step = whole ? Math.ceil((span + 1) / room) : span / (Math.max(8, Math.min(room, 60)) - 1);
    const count = Math.round(span / step) + 1;
    const stacks = Array.from({ length: count }, () => []);
    data.values.forEach((value, place) => {
      stacks[Math.round((value - low) / step)].push(data.inside[place]);
    });
    size = Math.min(size, 190 / Math.max(...stacks.map((stack) => stack.length)));
    return { low, step, count, stacks, size };
  }

  static tall(data, width) {
    const { stacks, size } = SampleChart.bins(data, width);
    return Math.max(...stacks.map((stack) => stack.length)) * size + 84;
  }

  drawn(data, width, tall) {
    const { low, step, count, stacks, size } = SampleChart.bins(data, width);
    const [left, right, top, floor] = [12, width - 12, 30, tall - 44];
    const half = step / 2;
    const x = scale(low - half, low + (count - 1) * step + half, left, right);
    const from = Math.max(left, x(data.low - half));
    const to = Math.min(right, x(data.high + half));
    const radius = Math.min(size / 2 - 1, (x(low + step) - x(low)) / 2 - 0.5);
    const middle = Math.min(Math.max((from + to) / 2, left + 70), right - 70);
    return [
      s("rect", { x: from, y: top - 8, width: Math.max(0, to - from), height: floor - top + 8, class: "region" }),
      text(middle, top - 13, "meets the requirement", { anchor: "middle", kind: "region-words" }),
      line(x(data.answer), top - 8, x(data.answer), floor, "truth faint"),
      ...stacks.flatMap((stack, place) => [...stack].sort((a, b) => b - a).map((inside, row) => s("circle", {
        cx: x(low + place * step).toFixed(1), cy: (floor - size * (row + 0.5)).toFixed(1),
        r: Math.max(radius, 1.5).toFixed(1), class: inside ? "inside" : "outside",
      }))),
      ...bottomAxis(x, low - half, low + (count - 1) * step + half, left, right, floor, { words: "simulated number" }),
      watermark(width, (top + floor) / 2),
    ];
  }
}

function watermark(width, middle) {
  const words = text(width / 2, middle, "not a release", { anchor: "middle", kind: "watermark" });
  words.style.fontSize = `${Math.min(48, width / 9)}px`;
  return words;
}

/** The share of a budget that was spent, spend by spend. */
export class SpendingChart extends Chart {
  constructor() {
    super({ height: 190, label: "What was spent" });
  }

  drawn(entries, width, tall) {
    const [left, right, top, floor] = [46, width - 12, 16, tall - 42];
    const x = scale(0, Math.max(entries.length - 1, 1), left, right);
    const y = scale(0, 1, floor, top);
    const path = entries.map((entry, place) => (place
      ? `H${x(place).toFixed(1)}V${y(Math.min(entry.spent, 1)).toFixed(1)}`
      : `M${x(0).toFixed(1)} ${y(Math.min(entry.spent, 1)).toFixed(1)}`)).join("");
    return [
      ...[0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
        line(left, y(share), right, y(share), share === 1 ? "limit-line" : "grid"),
        text(left - 6, y(share) + 4, `${100 * share} %`, { anchor: "end", kind: "tick" }),
      ]),
      text(right, y(1) + 14, "the whole budget", { anchor: "end", kind: "meaning" }),
      s("path", { class: "spent-area", d: `${path}V${floor}H${x(0)}Z` }),
      s("path", { class: "curve least", d: path }),
      ...entries.map((entry, place) => s("circle", {
        cx: x(place), cy: y(Math.min(entry.spent, 1)), r: 3.5, class: "spent-dot",
      }, s("title", {}, `${entry.what}: ${entry.spent_text} spent`))),
      text(left, floor + 18, entries[0]?.time.slice(0, 10) ?? "", { kind: "tick" }),
      text(right, floor + 18, entries.at(-1)?.time.slice(0, 10) ?? "", { anchor: "end", kind: "tick" }),
      text((left + right) / 2, floor + 34, "one step per record, oldest first", { anchor: "middle", kind: "words" }),
    ];
  }
}

/** The numbers behind a drawing, folded away. */
export function behind(summary, heads, rows) {
  return h("details", { class: "behind" }, h("summary", {}, summary),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": summary },
      h("table", {}, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))))));
}

