// Numbers of sliders and axes: round ones, evenly spread for the eye.

/** Round numbers from low to high: so many between each power of ten. */
function series(low, high, within = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of within) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found;
}

const whole = (values) => [...new Set(values.map(Math.round))].filter((value) => value > 0);
const upTo = (last) => Array.from({ length: last }, (_, index) => index + 1);

export const WIDTHS = series(0.01, 10_000);
// far beyond what sliders reach, to either side of any width
export const FAR_WIDTHS = series(1e-9, 1e9);
export const WHOLE_WIDTHS = [...upTo(20), ...whole(series(20, 10_000)).filter((value) => value > 20)];
export const COUNTS = [...upTo(12), ...whole(series(12, 10_000)).filter((value) => value > 12)];
export const SENSITIVITIES = series(0.1, 1_000);
export const EPSILONS = series(0.01, 20);
export const PERCENTS = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 90];
export const DELTAS = series(1e-12, 1e-3, [1, 2, 5]);
export const CONFIDENCES = [
  0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97,
  0.98, 0.985, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999,
];

/** A number as people type it. */
export function typed(value) {
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e15)) {
    return value.toExponential().replace("e-0", "e-").replace("e+", "e");
  }
  return String(value);
}

/** A number with all its digits, or 12 of them. */
export function exact(value) {
  return Number(value.toPrecision(12)).toLocaleString("en-US", { maximumFractionDigits: 12 });
}

/** Numbers of an axis with few digits, but all that tell them apart. */
export function apart(values) {
  const few = values.map(brief);
  const gap = Math.min(...values.slice(1).map((value, place) => value - values[place]));
  const near = (value, place) => Math.abs(Number(few[place].replaceAll(",", "")) - value) < gap / 50;
  return values.every(near) ? few : values.map(exact);
}

/** A number with few digits. */
export function brief(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(Number.isInteger(Math.log10(size)) ? 0 : 1).replace("e+", "e");
  return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 6 });
}

/** The place of the value that is nearest, of values that rise. */
export function nearest(values, value) {
  if (!Number.isFinite(value)) return 0;
  let best = 0;
  for (let place = 1; place < values.length; place += 1) {
    if (Math.abs(values[place] - value) < Math.abs(values[best] - value)) best = place;
  }
  return best;
}

/** From numbers to pixels; `log` for ratios. */
export function scale(low, high, from, to, log = false) {
  const place = log ? Math.log : (value) => value;
  const first = place(low);
  const factor = (to - from) / (place(high) - first || 1);
  const map = (value) => from + (place(value) - first) * factor;
  map.invert = (pixel) => {
    const value = first + (pixel - from) / factor;
    return log ? Math.exp(value) : value;
  };
  return map;
}

/** Round numbers for an axis. */
export function ticks(low, high, about = 5, log = false) {
  if (log) {
    const decades = Math.log10(high / low);
    const fine = [1, 2, 5];
    const found = series(low, high, decades > 4 ? [1] : fine);
    return found.length > about * 1.8 ? found.filter((_, index) => index % Math.ceil(found.length / about) === 0) : found;
  }
  const span = high - low || 1;
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const found = [];
  // never more than were asked for: far from 0 numbers have no neighbors this near
  for (let place = Math.ceil(low / step); place * step <= high + 1e-9 * span && found.length <= about; place += 1) found.push(place * step);
  return found;
}
