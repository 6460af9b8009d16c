/** The names in a tar archive (ustar, GNU and pax), as far as a reader wants to know them. */
export interface TarFile {
  /** Where it stands in the archive. */
  at: number;
  name: string;
  kind: "file" | "folder" | "link" | "other";
  size: number;
  mode: string;
}

const BLOCK = 512;
const KINDS: Record<string, TarFile["kind"]> = { "0": "file", "\0": "file", "5": "folder", "1": "link", "2": "link" };
const decoder = new TextDecoder();

export function filesOfTar(tar: Uint8Array): TarFile[] {
  const files: TarFile[] = [];
  let named: string | undefined;
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const field = (from: number, length: number) => text(tar.subarray(at + from, at + from + length));
    const size = sizeOf(tar.subarray(at + 124, at + 136));
    const type = String.fromCharCode(tar[at + 156] ?? 0);
    const plain = field(0, 100);
    if (plain === "" && size === 0) break;
    const data = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (type === "L") named = text(data);
    else if (type === "x") named = paxPath(data) ?? named;
    else if (type !== "g" && type !== "K") {
      const prefix = field(257, 5) === "ustar" && field(345, 155);
      const name = named ?? (prefix ? `${prefix}/${plain}` : plain);
      files.push({ at, name, kind: KINDS[type] ?? "other", size, mode: field(100, 8).trim().slice(-4) });
      named = undefined;
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** In octal digits, or in bytes where the first bit is set. */
function sizeOf(bytes: Uint8Array): number {
  if (((bytes[0] ?? 0) & 0x80) === 0) return Number.parseInt(text(bytes).trim(), 8) || 0;
  return bytes.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
}

function paxPath(data: Uint8Array): string | undefined {
  return /^\d+ path=(.*)$/m.exec(decoder.decode(data))?.[1];
}
