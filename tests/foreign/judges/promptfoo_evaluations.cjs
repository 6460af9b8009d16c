// promptfoo: a configuration in a folder is evaluated by its own command, which writes `output.json` there.

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");

// Its modules lie in the environment's folder, above the node that runs this, not above this file.
const program = path.join(path.dirname(createRequire(process.execPath).resolve("promptfoo")), "entrypoint.js");
const { folder } = JSON.parse(fs.readFileSync(0, "utf8"));
const settings = {
  PROMPTFOO_CONFIG_DIR: path.join(folder, "promptfoo"),
  PROMPTFOO_DISABLE_REMOTE_GENERATION: "1",
  PROMPTFOO_DISABLE_TELEMETRY: "1",
  PROMPTFOO_DISABLE_UPDATE: "1",
  PROMPTFOO_FAILED_TEST_EXIT_CODE: "0",
};
const given = ["eval", "--config", "config.json", "--output", "output.json", "--no-cache", "--no-table"];
execFileSync(process.execPath, [program, ...given], { cwd: folder, env: { ...process.env, ...settings }, stdio: "pipe" });
console.log("null");
