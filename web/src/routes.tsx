/** Which page is where, and what its address says. Every page but the first is loaded when it is gone to. */
import { createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";
import type { RunSetState } from "./api/queries";
import { NotFound } from "./pages/not-found";
import { RunSetPage } from "./pages/run-set/run-set";
import { runSetSearch } from "./pages/run-set/search";
import { RunSetsPage, STATES } from "./pages/run-sets/run-sets";
import { chosen, text } from "./search";
import { Shell } from "./shell/shell";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/run-sets" });
  },
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  beforeLoad: () => undefined,
  component: () => null,
});

const runSets = createRoute({
  getParentRoute: () => root,
  path: "/run-sets",
  validateSearch: (search: Record<string, unknown>): { state?: RunSetState; cursor?: string } => ({
    state: chosen<RunSetState>(search.state, STATES),
    cursor: text(search.cursor),
  }),
  component: RunSetsPage,
});

const runSet = createRoute({
  getParentRoute: () => root,
  path: "/run-sets/$runSet",
  validateSearch: runSetSearch,
  component: RunSetPage,
});

export const router = createRouter({
  routeTree: root.addChildren([home, setup, runSets, runSet]),
  defaultPreload: false,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
