// Reports for surveys of `pbdp local plan`, made on people's own devices. Plain JavaScript, no dependency.
// The arithmetic is specified in docs/wire-format.md; names here are the names there.
//
//   import { Survey, Device } from "./pbdp-survey.js";
//   const survey = await Survey.load(configuration);          // checks it, and computes its epsilon
//   survey.report(37);                                        // one fresh report: costs epsilon
//   const device = new Device({ storage: localStorage, cap: 8 });
//   const message = await device.answer(survey, 37);          // { report, survey } to send, or null
//
// Numbers up to 2^62 are BigInt; everything else is an ordinary number.

const TOTAL = 1n << 62n;
const BYTES_AT_ONCE = 65536; // more than this Web Crypto does not give in one call

/** What is wrong with a configuration or an answer. */
export class SurveyError extends Error {}

function need(holds, words) {
  if (!holds) throw new SurveyError(words);
}

const whole = (number, least) => Number.isSafeInteger(number) && number >= least;

// ------------------------------------------------------------------------------------------ random words

/** Random words: 32-bit numbers, the low half of word i at 2i and its high half at 2i + 1. */
export function randomHalves(words) {
  const bytes = new Uint8Array(8 * words);
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) {
    globalThis.crypto.getRandomValues(bytes.subarray(at, at + BYTES_AT_ONCE));
  }
  return halvesOfBytes(bytes);
}

/** Bytes become words of 8, the lowest byte first. */
export function halvesOfBytes(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

/** The halves of words that are written in decimal, as test vectors have them. */
export function halvesOf(decimals) {
  const words = decimals.map(BigInt);
  return Uint32Array.from(words.flatMap((w) => [Number(w & 0xffffffffn), Number(w >> 32n)]));
}

const word = (halves, i) => (BigInt(halves[2 * i + 1]) << 32n) | BigInt(halves[2 * i]);
const upper62 = (halves, i) => word(halves, i) >> 2n;

// ------------------------------------------------------------------------------------------ reports as text

/** One bit for each value as hexadecimal digits; bit 0 is the highest bit of the first digit. */
function hexadecimal(ones, count) {
  const bytes = new Uint8Array(Math.ceil(count / 8));
  for (const place of ones) bytes[place >> 3] |= 128 >> (place & 7);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ------------------------------------------------------------------------------------------ the members

/** The number of the category of value number x, and the number of its first value. */
function categoryOf(sizes, x) {
  let first = 0;
  let j = 0;
  while (x >= first + sizes[j]) first += sizes[j++];
  return { j, first };
}

/** All values once: otherwise some answers could follow another law than the one that is checked. */
function checkDomain({ values, categories, scale }) {
  const alike = values.every((v) => typeof v === "string") || values.every(Number.isSafeInteger);
  need(values.length > 1 && alike && new Set(values).size === values.length, "values are not a list of answers");
  if (scale) {
    const { width } = scale;
    need(whole(width, 3) && width % 2 === 1 && width < values.length, "the width is none of a scale");
    return;
  }
  const { sizes } = categories;
  const together = sizes.reduce((sum, size) => sum + size, 0);
  need(sizes.every((size) => whole(size, 1)) && together === values.length, "categories do not hold all values");
}

const big = (list) => list.map(BigInt);
const ratioOf = (pairs) => Math.max(...pairs.map(([most, least]) => Number(most) / Number(least)));

const boosted = {
  words: () => 1,
  parts: ({ domain, parameters }) => {
    const [own, near, far] = ["own", "near", "far"].map((name) => big(parameters[name]));
    const count = domain.values.length;
    const sizes = domain.scale ? [count] : domain.categories.sizes;
    return { own, near, far, count, sizes, near_sizes: domain.scale ? [domain.scale.width] : sizes };
  },
  check(config) {
    const { own, near, far, sizes, near_sizes } = this.parts(config);
    need([own, near, far].every((list) => list.length === sizes.length), "one weight for each category");
    const base = sizes.reduce((sum, n, j) => sum + BigInt(n) * far[j], 0n);
    sizes.forEach((_, j) => {
      const row = own[j] - far[j] + BigInt(near_sizes[j] - 1) * (near[j] - far[j]);
      const falling = 0n < far[j] && far[j] <= near[j] && near[j] <= own[j];
      need(falling && row === TOTAL - base, "weights are no law");
    });
    return ratioOf(own.map((most, j) => [most, far[j]]));
  },
  report(config, x, halves) {
    const { own, near, far, count, sizes } = this.parts(config);
    const { values, scale } = config.domain;
    const u = upper62(halves, 0);
    let start = 0n;
    let code = 0;
    for (let j = 0; j < sizes.length; j++) {
      const end = start + BigInt(sizes[j]) * far[j];
      if (u < end) return values[code + Number((u - start) / far[j])];
      start = end;
      code += sizes[j];
    }
    let { j, first } = scale ? { j: 0, first: x - (scale.width >> 1) } : categoryOf(sizes, x);
    const size = scale ? scale.width : sizes[j];
    if (scale && !scale.ring) first = Math.max(0, Math.min(first, count - size));
    const e = u - start - (own[j] - far[j]);
    if (e < 0n) return values[x];
    const k = Number(e / (near[j] - far[j]));
    const place = (((x - first) % count) + count) % count;
    return values[(((first + ((place + 1 + k) % size)) % count) + count) % count];
  },
};

const centers = {
  words: () => 1,
  check({ domain, parameters }) {
    const m = parameters.centers.length;
    const far = BigInt(parameters.far);
    need(m === domain.categories.sizes.length, "there is one center for each category");
    need(far > 0n && BigInt(m) * far < TOTAL, "weights are no law");
    return ratioOf([[TOTAL - BigInt(m - 1) * far, far]]);
  },
  report({ domain, parameters }, x, halves) {
    const any = Number(upper62(halves, 0) / BigInt(parameters.far));
    const mine = categoryOf(domain.categories.sizes, x).j;
    return parameters.centers[any < parameters.centers.length ? any : mine];
  },
};

const hashing = {
  words: ({ parameters }) => 1 + parameters.digits,
  check({ domain, parameters }) {
    const { g, digits } = parameters;
    const other = BigInt(parameters.other);
    need(whole(g, 2) && whole(digits, 1) && g ** digits >= domain.values.length, "the hash is too small");
    need(g ** (digits + 1) <= Number.MAX_SAFE_INTEGER, "the hash is too large");
    need(other > 0n && BigInt(g) * other < TOTAL, "weights are no law");
    return ratioOf([[TOTAL - BigInt(g - 1) * other, other]]);
  },
  report({ parameters }, x, halves) {
    const { g, digits } = parameters;
    const any = Number(upper62(halves, 0) / BigInt(parameters.other));
    let hash = 0;
    let report = 0;
    for (let i = 0, rest = x, unit = g; i < digits; i++, rest = Math.floor(rest / g), unit *= g) {
      const a = Number(word(halves, 1 + i) % BigInt(g));
      hash += a * (rest % g);
      report += a * unit;
    }
    return report + (any < g ? any : hash % g);
  },
};

/** Sets of values of blocks: of all values, or of one category each. */
const sets = {
  words: ({ domain }) => 1 + Math.ceil(domain.values.length / 2),
  parts({ domain, parameters }) {
    const d = parameters.sizes;
    const n = d.length > 1 ? domain.categories.sizes : [domain.values.length];
    const other = big(parameters.other);
    const base = n.reduce((sum, size, j) => sum + BigInt(size) * other[j], 0n);
    const divisor = (a, b) => (b ? divisor(b, a % b) : a);
    const multiple = d.map(BigInt).reduce((a, b) => (a / divisor(a, b)) * b, 1n);
    return { n, d, other, base, boost: ((TOTAL - base) / multiple) * multiple };
  },
  check(config) {
    const { n, d, other, boost } = this.parts(config);
    need(n.length === d.length && d.length === other.length, "one size and one weight for each block");
    need(d.every((size, j) => whole(size, 1) && size <= n[j]), "sets are no larger than their blocks");
    need(other.every((weight) => weight > 0n) && boost > 0n, "weights are no law");
    need(config.domain.values.length <= 65536 && !(d.length === 1 && d[0] === n[0]), "sets are too large");
    return ratioOf(d.map((size, j) => [other[j] + boost / BigInt(size), other[j]]));
  },
  ones(config, x, halves) {
    const { n, d, other, base, boost } = this.parts(config);
    const mine = categoryOf(n, x);
    const u = upper62(halves, 0);
    let { j, first } = mine;
    let start = 0;
    if (u < base) {
      let before = 0n;
      for (j = 0, first = 0; u >= before + BigInt(n[j]) * other[j]; first += n[j++]) {
        before += BigInt(n[j]) * other[j];
      }
      start = Number((u - before) / other[j]);
    }
    const i = u < base ? 0 : Number((u - base) / (boost / BigInt(d[j])));
    if (u >= base && i >= d[j]) [j, first] = [0, 0];
    // a key and a number are below 2^48 together, so an ordinary number holds them
    const key = (v) => halves[2 + v] * 65536 + v;
    const line = Float64Array.from({ length: n[j] }, (_, k) => key(first + k)).sort();
    if (u >= base && i < d[mine.j]) start = line.indexOf(key(x)) - i;
    return Array.from({ length: d[j] }, (_, k) => line[(((start + k) % n[j]) + n[j]) % n[j]] % 65536);
  },
  report(config, x, halves) {
    return hexadecimal(this.ones(config, x, halves), config.domain.values.length);
  },
};

/** A coin asks for the category or for the value. */
const split = {
  parts({ domain, parameters }) {
    const numbers = { values: domain.categories.sizes.map((_, j) => j) };
    const category = { domain: numbers, parameters: parameters.category };
    return [category, ...(parameters.value ? [{ domain, parameters: parameters.value }] : [])];
  },
  words(config) {
    return 1 + Math.max(...this.parts(config).map((part) => sets.words(part)));
  },
  check(config) {
    const share = BigInt(config.parameters.share);
    need(0n < share && (config.parameters.value ? share < TOTAL : share === TOTAL), "share is no law");
    return Math.max(...this.parts(config).map((part) => sets.check(part)));
  },
  report(config, x, halves) {
    const [category, value] = this.parts(config);
    const rest = halves.subarray(2);
    const asked = upper62(halves, 0) < BigInt(config.parameters.share);
    if (asked) return "c" + sets.report(category, categoryOf(config.domain.categories.sizes, x).j, rest);
    return "v" + sets.report(value, x, rest);
  },
};

/** The law of a window: place y for place t of `places`. */
const windows = {
  check(places, { half, near, far }) {
    need(whole(half, 0), "half is no whole number");
    const [n, f] = [BigInt(near), BigInt(far)];
    const left = TOTAL - BigInt(places + 2 * half) * f - BigInt(2 * half + 1) * (n - f);
    need(0n < f && f < n && 0n <= left && left < BigInt(2 * half + 1), "weights are no law");
    return ratioOf([[n, f]]);
  },
  place(places, { half, near, far }, t, u) {
    const [n, f] = [BigInt(near), BigInt(far)];
    const base = BigInt(places + 2 * half) * f;
    if (u < base) return Number(u / f);
    const j = Number((u - base) / (n - f));
    return j < 2 * half + 1 ? t + j : 0;
  },
};

const wave = {
  words: () => 1,
  check: ({ domain, parameters }) => windows.check(domain.values.length, parameters),
  report({ domain, parameters }, x, halves) {
    const y = windows.place(domain.values.length, parameters, x, upper62(halves, 0));
    return parameters.first + y - parameters.half;
  },
};

const mean = {
  words: () => 2,
  places({ domain, parameters }) {
    const last = domain.values.reduce((a, b) => Math.max(a, b));
    return (last - parameters.low) / parameters.step + 1;
  },
  check(config) {
    const { share, least, slope } = Object.fromEntries(
      ["share", "least", "slope"].map((name) => [name, BigInt(config.parameters[name])]),
    );
    const { low, step } = config.parameters;
    const fits = (v) => v >= low && (v - low) % step === 0;
    need(whole(step, 1) && config.domain.values.every(fits), "low and step do not fit the values");
    const places = this.places(config);
    const most = least + BigInt(places - 1) * slope;
    need(0n <= share && share <= TOTAL && least > 0n && slope > 0n && most < TOTAL, "weights are no law");
    const ratios = [1];
    const bit = [
      [most, least],
      [TOTAL - least, TOTAL - most],
    ];
    if (share < TOTAL) ratios.push(ratioOf(bit));
    if (share > 0n) ratios.push(windows.check(places, config.parameters));
    return Math.max(...ratios);
  },
  report(config, x, halves) {
    const { low, step, share, least, slope } = config.parameters;
    const t = (config.domain.values[x] - low) / step;
    const v = upper62(halves, 1);
    if (upper62(halves, 0) < BigInt(share)) {
      return 2 + windows.place(this.places(config), config.parameters, t, v);
    }
    return v < BigInt(least) + BigInt(t) * BigInt(slope) ? 1 : 0;
  },
};

const MEMBERS = {
  "boosted response": boosted,
  "response on centers": centers,
  "local hashing": hashing,
  "subset selection": sets,
  "user splitting": split,
  "square wave": wave,
  "mean response": mean,
};

// ------------------------------------------------------------------------------------------ a survey

/** Text of JSON with sorted names, no spaces and only ASCII, whose SHA-256 is the fingerprint. */
export function canonical(thing) {
  if (Array.isArray(thing)) return `[${thing.map(canonical).join(",")}]`;
  if (thing !== null && typeof thing === "object") {
    const entries = Object.keys(thing).sort();
    return `{${entries.map((name) => `${canonical(name)}:${canonical(thing[name])}`).join(",")}}`;
  }
  const escaped = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(thing).replace(/[\u007f-\uffff]/g, escaped);
}

async function fingerprintOf({ format, version, mechanism, domain, parameters }) {
  const text = new TextEncoder().encode(canonical({ format, version, mechanism, domain, parameters }));
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", text));
  return Array.from(digest.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A configuration that was checked: its weights, its fingerprint and its test vectors. */
export class Survey {
  /** Nothing that the server says is believed: epsilon is computed from the weights. */
  static async load(config) {
    need(config && config.format === "pbdp-local" && config.version === 1, "not a survey of `pbdp local plan`");
    need(Object.hasOwn(MEMBERS, config.mechanism), "a mechanism that this client does not know");
    const member = MEMBERS[config.mechanism];
    checkDomain(config.domain);
    const survey = new Survey();
    survey.config = config;
    survey.member = member;
    // rounded up by more than the doubles may be off
    survey.epsilon = Math.log(member.check(config)) * (1 + 1e-12) + 1e-12;
    survey.codes = new Map(config.domain.values.map((value, code) => [value, code]));
    need(survey.epsilon <= config.epsilon + 1e-9, "epsilon is more than the configuration says");
    survey.fingerprint = await fingerprintOf(config);
    need(survey.fingerprint === config.fingerprint, "the configuration was changed");
    for (const { value, words, report } of config.test_vectors) {
      need(survey.reportFrom(value, halvesOf(words)) === report, "a test vector gives another report");
    }
    return survey;
  }

  /** The report that given words make of an answer: for test vectors, never for a real report. */
  reportFrom(value, halves) {
    const x = this.codes.get(value);
    need(x !== undefined, "not an answer of this survey");
    need(halves.length === 2 * this.member.words(this.config), "another number of words");
    return this.member.report(this.config, x, halves);
  }

  /** A fresh report of an answer. Every one costs its person epsilon; see Device for repeated surveys. */
  report(value) {
    return this.reportFrom(value, randomHalves(this.member.words(this.config)));
  }
}

// ------------------------------------------------------------------------------------------ the device

/**
 * Remembers reports, and what the person has spent, in a storage like localStorage.
 *
 * All reports to one survey, however often it is repeated, cost `answers` times epsilon at most: each of the
 * first `answers` different answers gets one report, the same one every time, and any other answer gets the
 * report of the last of these. So with `answers: 1` (the default) the first answer is all that ever shows, and
 * changes never show at all. With more, a collector can see that an answer changed, and when, but not from what
 * to what by more than `answers` times epsilon tells.
 *
 * That cost is charged when a survey is first answered, whatever is answered. If it does not fit below `cap`
 * nothing is sent (null), so that not even silence tells about the answers.
 */
export class Device {
  constructor({ storage, cap, name = "pbdp" }) {
    need(cap > 0, "cap is a number above 0");
    Object.assign(this, { storage, cap, name });
  }

  /** What all surveys so far may cost the person together. */
  get spent() {
    return Object.values(this.#read()).reduce((sum, kept) => sum + kept.cost, 0);
  }

  /** The message to send for an answer, or null if the survey does not fit below the cap. */
  async answer(survey, value, { answers = 1 } = {}) {
    need(Number.isInteger(answers) && answers >= 1, "answers is a whole number of at least 1");
    need(survey.codes.has(value), "not an answer of this survey");
    const alone = globalThis.navigator?.locks;
    const work = () => this.#answer(survey, value, answers);
    // two windows of one app must not both spend the last of the cap
    return alone ? alone.request(this.name, work) : work();
  }

  /** Which of several surveys this person is asked: by chance, whatever the answers, and always the same one. */
  pick(surveys) {
    const place = `${this.name}/picked/${surveys.map((survey) => survey.fingerprint).join(",")}`;
    let number = this.storage.getItem(place);
    if (number === null) {
      number = String(word(randomHalves(1), 0) % BigInt(surveys.length));
      this.storage.setItem(place, number);
    }
    return surveys[Number(number)];
  }

  #read() {
    return JSON.parse(this.storage.getItem(this.name) ?? "{}");
  }

  #answer(survey, value, answers) {
    const all = this.#read();
    const kept = (all[survey.fingerprint] ??= { cost: answers * survey.epsilon, answers, reports: [] });
    const cost = Object.values(all).reduce((sum, each) => sum + each.cost, 0);
    if (cost > this.cap && kept.reports.length === 0) return null;
    // another survey with the same fingerprint, made to look like one that was paid for
    if (kept.answers * survey.epsilon > kept.cost) return null;
    let known = kept.reports.find((each) => each.value === value);
    if (known === undefined && kept.reports.length < kept.answers) {
      known = { value, report: survey.report(value) };
      kept.reports.push(known);
      // what was not stored must not be sent: it would be drawn again
      this.storage.setItem(this.name, JSON.stringify(all));
    }
    const { report } = known ?? kept.reports[kept.reports.length - 1];
    return { report, survey: survey.fingerprint };
  }
}
