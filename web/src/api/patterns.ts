/** Names as the shell patterns that the API takes for them. */

/** A shell pattern for one name alone. */
export function exactly(name: string): string {
  return name.replace(/[*?[\]]/g, "[$&]");
}

/** A shell pattern for names that hold a text, whether in small letters or capitals. */
export function patternOf(text: string): string {
  const parts = [...text].map((one) => {
    const [small, large] = [one.toLowerCase(), one.toUpperCase()];
    if (small !== large) return `[${small}${large}]`;
    return /[*?[\]]/.test(one) ? `[${one}]` : one;
  });
  return `*${parts.join("")}*`;
}
