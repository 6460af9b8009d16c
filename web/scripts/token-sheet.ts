/** One value for a light page and one for a dark one. */
interface Sides {
  light: string;
  dark: string;
}

interface Look {
  group: string;
  fill: Sides;
  glyph: string;
  hollow?: boolean;
}

/** What `tokens.json` holds. */
export interface Tokens {
  surfaces: Record<string, Sides>;
  groups: Record<string, { text: Sides; tint: Sides }>;
  outcomes: Record<string, Look>;
  absent: Record<string, Look>;
}

type Side = keyof Sides;

function declarations(tokens: Tokens, side: Side): string {
  const surfaces = Object.entries(tokens.surfaces).map(([name, value]) => `--${name}:${value[side]}`);
  const groups = Object.entries(tokens.groups).flatMap(([name, { text, tint }]) => [
    `--${name}-text:${text[side]}`,
    `--${name}-tint:${tint[side]}`,
  ]);
  const fills = Object.entries({ ...tokens.outcomes, ...tokens.absent }).map(
    ([name, look]) => `--${name}-fill:${look.fill[side]}`,
  );
  return [...surfaces, ...groups, ...fills].join(";");
}

/** Text and tint of an owner, for whatever names its group. */
function chips(tokens: Tokens): string[] {
  return Object.keys(tokens.groups).map(
    (name) => `[data-group="${name}"]{--chip-text:var(--${name}-text);--chip-tint:var(--${name}-tint)}`,
  );
}

/** The sheet: light, also on paper; on a screen dark where the system asks for it, and either where a reader chose. */
export function tokenSheet(tokens: Tokens): string {
  const [light, dark] = [declarations(tokens, "light"), declarations(tokens, "dark")];
  return [
    `:root{color-scheme:light;${light}}`,
    `@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${dark}}}`,
    `@media screen{:root[data-theme=dark]{color-scheme:dark;${dark}}}`,
    ...chips(tokens),
  ].join("\n");
}
