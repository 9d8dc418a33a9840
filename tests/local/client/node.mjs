// Runs one check of checks.js with Node: its name and what it is given come as JSON on standard input.

import * as checks from "./checks.js";

let input = "";
for await (const part of process.stdin) input += part;
const { check, given } = JSON.parse(input);
process.stdout.write(JSON.stringify((await checks[check](...given)) ?? null));
