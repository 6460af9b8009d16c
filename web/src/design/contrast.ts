/** Contrast as WCAG 2.2 defines it. */

/** The ink that reads better on a fill. */
export function inkOn(fill: string): string {
  const [dark, light] = ["#0B0E13", "#FFFFFF"];
  return contrast(light, fill) >= contrast(dark, fill) ? light : dark;
}

/** Of two colours as `#RRGGBB`, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
