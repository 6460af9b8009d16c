/** Reading of Prometheus's text format, as far as the server writes it. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function samplesOf(text: string): Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .flatMap((line) => {
      const [, name = "", labels = "", value = ""] = LINE.exec(line) ?? [];
      if (name === "") return [];
      const pairs = [...labels.matchAll(LABEL)].map(([, key = "", said = ""]) => [key, said.replace(/\\(.)/g, "$1")]);
      return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
    });
}

/** The sum of a family's samples, narrowed by labels; `null` where there is none. */
export function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number | null {
  const found = samples.filter(
    (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  );
  return found.length ? found.reduce((total, one) => total + one.value, 0) : null;
}
