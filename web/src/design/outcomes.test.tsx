import { render } from "@testing-library/react";
import { expect, test } from "vitest";
import tokens from "../../../src/proctor/reports/html/tokens.json";
import { Chip } from "../parts/glyph";
import { contrast } from "./contrast";
import { CLASSES, lookOf, OWNERS, ownerOf, ownerWords, words } from "./outcomes";

test("every class has a glyph of its own, a word and an owner", () => {
  expect(CLASSES).toHaveLength(21);
  const glyphs = CLASSES.map((name) => lookOf(name).glyph);
  expect(new Set(glyphs).size).toBe(CLASSES.length);
  for (const name of CLASSES) {
    const { container, unmount } = render(<Chip name={name} />);
    expect(container.textContent).toBe(words(name));
    expect(container.querySelector("path")?.getAttribute("d")).toBe(lookOf(name).glyph);
    expect(OWNERS).toContain(ownerOf(name));
    expect(ownerWords(ownerOf(name))).not.toBe("");
    unmount();
  }
});

test("a class that is not known looks like an unclassified one", () => {
  expect(lookOf("from_the_future").glyph).toBe(lookOf("unclassified").glyph);
  expect(ownerOf("from_the_future")).toBe("nobody");
});

test("words can be read on every chip, and fills be seen on every surface", () => {
  for (const side of ["light", "dark"] as const) {
    const { bg, raised } = tokens.surfaces;
    for (const [name, { text, tint }] of Object.entries(tokens.groups)) {
      expect(contrast(text[side], tint[side]), `${name} ${side}`).toBeGreaterThanOrEqual(4.5);
      expect(contrast(text[side], bg[side]), `${name} ${side}`).toBeGreaterThanOrEqual(4.5);
    }
    for (const [name, { fill }] of Object.entries(tokens.outcomes)) {
      expect(contrast(fill[side], bg[side]), `${name} ${side}`).toBeGreaterThanOrEqual(3);
      expect(contrast(fill[side], raised[side]), `${name} ${side}`).toBeGreaterThanOrEqual(3);
    }
  }
});
