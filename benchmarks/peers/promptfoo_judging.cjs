// promptfoo's `equals` over its `echo` provider, which says the prompt: here the output that is judged.
//
// Run by the node of promptfoo's own environment, as judging.py says: `node promptfoo_judging.cjs EXAMPLES.jsonl COUNT`.
// It keeps the evaluation in its database (PROMPTFOO_CONFIG_DIR) and as a JSON file.

const fs = require("node:fs");
const path = require("node:path");
const { createRequire } = require("node:module");

// Its modules lie in the environment's folder, above the node that runs this, not above this file.
const promptfoo = createRequire(process.execPath)("promptfoo");

// Examples before the clock starts: the first pay for modules and tables that were put off.
const WARM_UP = 20;

function tests(examples) {
  return examples.map((one) => ({
    vars: { name: one.id, output: one.output, expected: one.expected },
    assert: [{ type: "equals", value: "{{expected}}" }],
  }));
}

async function timed(examples, name) {
  fs.mkdirSync(name);
  const suite = {
    prompts: ["{{output}}"],
    providers: ["echo"],
    tests: tests(examples),
    writeLatestResults: true,
    outputPath: `${name}/evaluation.json`,
  };
  const before = bytes(".");
  const spent = process.cpuUsage();
  const began = process.hrtime.bigint();
  await promptfoo.evaluate(suite, { cache: false, showProgressBar: false });
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const { user, system } = process.cpuUsage(spent);
  const kept = JSON.parse(fs.readFileSync(suite.outputPath, "utf8")).results.results;
  const right = kept.filter((one) => one.score === 1).map((one) => one.vars.name);
  return { seconds, processor_sec: (user + system) / 1e6, right, bytes: bytes(".") - before };
}

function bytes(folder) {
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => one.isFile());
  return files.reduce((sum, one) => sum + fs.statSync(path.join(one.parentPath, one.name)).size, 0);
}

async function main() {
  const [, , given, count] = process.argv;
  const lines = fs.readFileSync(given, "utf8").trim().split("\n").slice(0, Number(count));
  const examples = lines.map((line) => JSON.parse(line));
  await timed(examples.slice(0, WARM_UP), "warm");
  console.log(`\n${JSON.stringify(await timed(examples, "kept"))}`);
}

main();
