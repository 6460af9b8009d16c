/** Writes `.br` and `.gz` beside every file of the build that is smaller for it: the server sends them as they are. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const BUILT = new URL("../../src/proctor/dashboard/", import.meta.url).pathname;
const COMPRESSED_ALREADY = /\.(woff2|png|br|gz)$/;

function files(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

for (const path of files(BUILT).filter((one) => !COMPRESSED_ALREADY.test(one))) {
  const plain = readFileSync(path);
  const packed = {
    br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
    gz: gzipSync(plain, { level: 9 }),
  };
  for (const [ending, bytes] of Object.entries(packed)) {
    if (bytes.length < plain.length) writeFileSync(`${path}.${ending}`, bytes);
  }
}
