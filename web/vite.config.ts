import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { tokenSheet } from "./scripts/token-sheet.ts";

const TOKENS = new URL("../src/proctor/reports/html/tokens.json", import.meta.url);
const SHEET = "virtual:tokens.css";

/** Colours and glyphs as custom properties, from the file that the command line's HTML report takes them from. */
function tokens(): Plugin {
  return {
    name: "proctor-tokens",
    resolveId: (id) => (id === SHEET ? `\0${SHEET}` : undefined),
    load: (id) => (id === `\0${SHEET}` ? tokenSheet(JSON.parse(readFileSync(TOKENS, "utf8"))) : undefined),
  };
}

export default defineConfig({
  plugins: [tokens(), react()],
  build: {
    outDir: "../src/proctor/dashboard",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the policy of the page allows no data: but pictures
  },
  server: {
    // The server signs in pages of its own origin only, which it knows by the Host: that is passed on as it is.
    proxy: {
      "/api": { target: "http://127.0.0.1:8080", changeOrigin: false },
      "/ws": { target: "ws://127.0.0.1:8080", changeOrigin: false, ws: true },
    },
  },
  test: { environment: "jsdom", include: ["src/**/*.test.{ts,tsx}"], setupFiles: ["src/testing/setup.ts"], css: false },
});
