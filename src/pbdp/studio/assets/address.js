// The state of the page is in its address, behind #, which no server sees: #/explore?within=5&confidence=0.9

/** The view and its state. */
export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path, state: Object.fromEntries(new URLSearchParams(query)) };
}

/** Put a state into the address, without a new entry of the history. */
export function write(view, state) {
  const query = new URLSearchParams(state).toString();
  const hash = `#/${view}${query ? `?${query}` : ""}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
