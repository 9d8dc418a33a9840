// The same checks for Node and for browsers: `cases` are configurations with reports that pbdp itself made.

import { Device, Survey, canonical, halvesOf, halvesOfBytes } from "./pbdp-survey.js";

class Storage {
  things = new Map();
  writes = 0;
  getItem(name) {
    return this.things.get(name) ?? null;
  }
  setItem(name, text) {
    this.writes += 1;
    this.things.set(name, text);
  }
}

async function refusal(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return error.message;
  }
}

/** Every vector of every configuration, and what does not agree. */
export async function checkVectors(cases) {
  const wrong = [];
  let vectors = 0;
  for (const { name, config, reports } of cases) {
    const survey = await Survey.load(config);
    if (Math.abs(survey.epsilon - config.epsilon) > 1e-9) wrong.push(`${name}: epsilon ${survey.epsilon}`);
    for (const { value, words, report } of reports) {
      vectors += 1;
      const made = survey.reportFrom(value, halvesOf(words));
      if (made !== report) wrong.push(`${name}: ${made} for ${report}`);
    }
  }
  return { vectors, wrong };
}

/** What a configuration that was tampered with is refused for. */
export async function checkRefusals(config) {
  const changed = (change) => refusal(() => Survey.load(change(structuredClone(config))));
  return {
    format: await changed((c) => ({ ...c, format: "other" })),
    member: await changed((c) => ({ ...c, mechanism: "magic" })),
    weaker: await changed((c) => ({ ...c, epsilon: c.epsilon / 2 })),
    weights: await changed((c) => ((c.parameters.own[0] = String(BigInt(c.parameters.own[0]) + 1n)), c)),
    values: await changed((c) => ((c.domain.values[0] = -5), c)),
    vector: await changed((c) => ((c.test_vectors[0].report = 17), c)),
    answer: await refusal(async () => (await Survey.load(config)).report("no answer")),
    untouched: await changed((c) => c),
  };
}

/** Memory and cap of a device. */
export async function checkDevice(config, others) {
  const storage = new Storage();
  const survey = await Survey.load(config);
  const values = config.domain.values;
  const device = new Device({ storage, cap: 2.5 * survey.epsilon });
  const first = await device.answer(survey, values[0]);
  const found = { survey: first.survey };
  const again = [];
  for (let i = 0; i < 40; i++) again.push((await device.answer(survey, values[0])).report);
  found.same = again.every((report) => report === first.report);
  // only the first answer is ever shown
  const moved = [];
  for (let i = 0; i < 40; i++) moved.push((await device.answer(survey, values[i % values.length])).report);
  found.sticks = moved.every((report) => report === first.report);
  found.spent = device.spent / survey.epsilon;
  found.writes = storage.writes;
  // a new device on the same storage remembers
  const later = new Device({ storage, cap: 2.5 * survey.epsilon });
  found.remembers = (await later.answer(survey, values[0])).report === first.report;
  // several answers: each has its own report, and the last one serves all others
  const several = new Device({ storage: new Storage(), cap: 4 * survey.epsilon });
  const by = new Map();
  for (let round = 0; round < 3; round++) {
    for (const value of values.slice(0, 5)) {
      const { report } = await several.answer(survey, value, { answers: 3 });
      by.set(value, (by.get(value) ?? new Set()).add(report));
    }
  }
  found.memorized = [...by.values()].every((reports) => reports.size === 1);
  found.stale = [...by.get(values[3])][0] === [...by.get(values[2])][0];
  found.severalSpent = several.spent / survey.epsilon;
  // the cap: two surveys of one epsilon fit into 2.5, a third does not, and the first ones still answer
  const more = await Promise.all(others.map((other) => Survey.load(other)));
  const sent = [];
  for (const other of more) sent.push((await device.answer(other, other.config.domain.values[0])) !== null);
  found.sent = sent;
  found.stillAnswers = (await device.answer(survey, values[0])).report === first.report;
  found.within = device.spent <= device.cap;
  // a storage that is full must not let a report out
  const full = { getItem: () => null, setItem: () => { throw new Error("full"); } };
  found.full = await refusal(() => new Device({ storage: full, cap: 9 }).answer(survey, values[0]));
  // of several questions the same one is asked for ever
  const picked = new Set(Array.from({ length: 20 }, () => device.pick([survey, ...more]).fingerprint));
  found.picked = picked.size;
  const fresh = () => new Device({ storage: new Storage(), cap: 9 }).pick([survey, ...more]).fingerprint;
  found.spread = new Set(Array.from({ length: 200 }, fresh)).size;
  return found;
}

/** Reports of fresh random words, counted. */
export async function drawn(config, value, count) {
  const survey = await Survey.load(config);
  const found = {};
  for (let i = 0; i < count; i++) {
    const report = survey.report(value);
    found[report] = (found[report] ?? 0) + 1;
  }
  return found;
}

/** Microseconds for one report. */
export async function speed(config, count) {
  const survey = await Survey.load(config);
  const { values } = config.domain;
  const start = performance.now();
  for (let i = 0; i < count; i++) survey.report(values[i % values.length]);
  return (1000 * (performance.now() - start)) / count;
}

export function bytesInOrder() {
  return [...halvesOfBytes(Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]))];
}

export function text(thing) {
  return canonical(thing);
}
