/**
 * Numbers cut to decimals as Python cuts them, so that a figure is the same on a page, in a report and on the command
 * line: to the nearest of the number itself, and of a tie, such as 56.25 of one decimal, to the even one. JavaScript's
 * own `toFixed` takes the larger.
 */

/** A tie has this many zeros after its 5: no other number of this size comes so near to one. */
const BEYOND = 30;
const TIE = `5${"0".repeat(BEYOND - 1)}`;

/** `56.2` of 56.25. */
export function fixed(value: number, digits: number): string {
  const exact = value.toFixed(digits + BEYOND);
  const kept = exact.slice(0, -BEYOND).replace(/\.$/, "");
  return exact.endsWith(TIE) && "02468".includes(kept.at(-1) ?? "") ? kept : value.toFixed(digits);
}

/** As many digits that count, without zeros at the end: `0.0312` of 0.03125, `3.1e-05` of what is smaller than 0.0001. */
export function precise(value: number, digits: number): string {
  const [, exponent = "0"] = value.toExponential(digits - 1).split("e");
  const places = digits - 1 - Number(exponent);
  const plain = Number(exponent) >= -4 && places >= 0;
  const text = plain ? fixed(value, places) : value.toExponential(digits - 1);
  const short = text.includes(".") ? text.replace(/\.?0+(?=e|$)/, "") : text;
  return short.replace(/e([+-])(\d)$/, "e$10$2");
}
