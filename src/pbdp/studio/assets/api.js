// Asking the studio: who we are, requests that take a while, and mistakes with the fields they belong to.

const WORD = "pbdp-word";
const TOKEN = "pbdp-token";

/** Mistakes in a request: `errors` has one for each field, or for none. */
export class Refused extends Error {
  constructor(status, errors) {
    super(errors.map((error) => error.message).join(" "));
    this.status = status;
    this.errors = errors;
  }
}

/** Whoever asked did not want to know any longer. */
export class Canceled extends Error {}

/** Exchange the token in the address for a cookie, once, and take it out of the address. */
export async function enter() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) {
    // whoever leaves or reloads the page before it is in has it still
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", location.pathname);
  }
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null) {
    const response = await send("POST", "/api/session", { token });
    if (response.ok) localStorage.setItem(WORD, (await response.json()).word);
  }
  const response = await send("GET", "/api/about");
  sessionStorage.removeItem(TOKEN);
  return (await answered(response)).json();
}

// Jobs that this page looks after; they end with it.
const jobs = new Set();
addEventListener("pagehide", () => jobs.forEach(end));

function end(job) {
  // a studio that does not answer has ended it
  send("DELETE", `/api/jobs/${job}`).catch(() => {});
}

/** A request that may take a while. `progress` is told how long it has taken, and null at the end. */
export class Asking {
  #job = null;
  #canceled = false;

  constructor(path, body = null, progress = () => {}) {
    this.long = false;
    this.answer = this.#asked(path, body, progress).finally(() => {
      jobs.delete(this.#job);
      progress(null);
    });
  }

  async #asked(path, body, progress) {
    let response = await send(body === null ? "GET" : "POST", path, body);
    while (response.status === 202) {
      const told = await response.json();
      this.#job = told.job;
      jobs.add(told.job);
      if (this.#canceled) {
        this.cancel();
        throw new Canceled();
      }
      this.long = true;
      progress(told);
      response = await send("GET", `/api/jobs/${told.job}`);
    }
    if (this.#canceled || response.status === 204) throw new Canceled();
    return answered(response);
  }

  /** Give it up; the computation is ended. */
  cancel() {
    this.#canceled = true;
    if (this.#job !== null) end(this.#job);
  }
}

/** Asks for the newest of what is wanted, one request at a time. */
export class Newest {
  #current = null;
  #next = null;

  /** `path` is asked; `show` gets answer and request, `refuse` a mistake, `progress` how long it takes. */
  constructor(path, { show, refuse, progress = () => {} }) {
    Object.assign(this, { path, show, refuse, progress });
  }

  ask(body) {
    this.#next = body;
    if (this.#current === null) this.#run();
    else if (this.#current.long) this.#current.cancel();
  }

  cancel() {
    this.#next = null;
    this.#current?.cancel();
  }

  get busy() {
    return this.#current !== null;
  }

  async #run() {
    try {
      while (this.#next !== null) await this.#one();
    } finally {
      this.#current = null;
    }
  }

  async #one() {
    const body = this.#next;
    this.#next = null;
    this.#current = new Asking(this.path, body, this.progress);
    let found;
    try {
      found = await (await this.#current.answer).json();
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Canceled)) throw error;
      if (this.#next === null) this.refuse(error, body);
      return;
    }
    this.show(found, body);
  }
}

async function answered(response) {
  if (response.ok) return response;
  const { errors } = await response.json();
  if (response.status === 401) dispatchEvent(new CustomEvent("pbdp-locked", { detail: errors[0].message }));
  throw new Refused(response.status, errors);
}

async function send(method, path, body = null) {
  const headers = { "x-pbdp-studio": localStorage.getItem(WORD) ?? "" };
  if (body !== null) headers["content-type"] = "application/json";
  // what is taken back has to get through even as the page goes
  const request = { method, headers, body: body === null ? null : JSON.stringify(body), keepalive: method === "DELETE" };
  try {
    return await fetch(path, request);
  } catch {
    throw new Refused(0, [{ field: null, message: "The studio does not answer: it was stopped, perhaps. Start it again with pbdp studio." }]);
  }
}
