// Runs an agent whose HTTP client needs TCP: a port of the loopback leads to the gateway's Unix socket while it runs.
// node bridge.mjs SOCKET COMMAND...: `@PROCTOR_PORT@` in its words and environment becomes the port.
import { spawn } from "node:child_process";
import net from "node:net";
import os from "node:os";

const [socket, command, ...words] = process.argv.slice(2);
const server = net.createServer({ allowHalfOpen: true }, (near) => {
  const far = net.createConnection({ path: socket, allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) {
    one.pipe(other);
    one.on("error", () => other.destroy());
    one.on("close", () => other.destroySoon());
  }
});

server.listen(0, "127.0.0.1", () => {
  const filled = (text) => text.replaceAll("@PROCTOR_PORT@", String(server.address().port));
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value]) => [name, filled(value)]));
  const child = spawn(filled(command), words.map(filled), { stdio: "inherit", env });
  child.on("error", (error) => {
    console.error(`proctor bridge: ${error.message}`);
    process.exit(127);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
});
