/** Which page is where, and what its address says. Every page but the first is loaded when it is gone to. */
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from "@tanstack/react-router";
import type { RunSetState } from "./api/queries";
import { askAhead } from "./pages/attempt/queries";
import { attemptSearch } from "./pages/attempt/search";
import { type CompareSearch, SHOWN, segmentOf } from "./pages/compare/tasks";
import { costsSearch } from "./pages/costs/choices";
import { datasetSearch } from "./pages/datasets/search";
import { healthSearch } from "./pages/health/choices";
import { jobSearch, jobsSearch } from "./pages/jobs/search";
import { NotFound } from "./pages/not-found";
import { RunSetPage } from "./pages/run-set/run-set";
import { runSetSearch } from "./pages/run-set/search";
import { RunSetsPage, STATES } from "./pages/run-sets/run-sets";
import { SECTIONS, type SectionName } from "./pages/settings/sections";
import { SetUpAlready } from "./pages/sign-in/set-up-already";
import { chosen, parsed, quoted, several, text, whole } from "./search";
import { Broken, loaded } from "./shell/broken";
import { Shell } from "./shell/shell";

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Shell, notFoundComponent: NotFound });

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
  component: SetUpAlready,
});

const runSets = createRoute({
  getParentRoute: () => root,
  path: "/run-sets",
  validateSearch: (search: Record<string, unknown>): { state?: RunSetState; q?: string; cursor?: string } => ({
    state: chosen<RunSetState>(search.state, STATES),
    q: text(search.q),
    cursor: text(search.cursor),
  }),
  component: RunSetsPage,
});

const launch = createRoute({
  getParentRoute: () => root,
  path: "/run-sets/new",
  component: lazyRouteComponent(() => loaded(import("./pages/launch/launch")), "LaunchPage"),
});

const runSet = createRoute({
  getParentRoute: () => root,
  path: "/run-sets/$runSet",
  validateSearch: runSetSearch,
  component: RunSetPage,
});

const leaderboard = createRoute({
  getParentRoute: () => root,
  path: "/leaderboard",
  validateSearch: (search: Record<string, unknown>): { suite?: string; pin?: string[] } => ({
    suite: text(search.suite),
    pin: several(search.pin),
  }),
  component: lazyRouteComponent(() => loaded(import("./pages/leaderboard/leaderboard")), "LeaderboardPage"),
});

const compare = createRoute({
  getParentRoute: () => root,
  path: "/compare",
  validateSearch: (search: Record<string, unknown>): CompareSearch => ({
    base: text(search.base),
    with: several(search.with),
    show: chosen(search.show, SHOWN),
    segment: segmentOf(search.segment),
    pair: whole(search.pair),
  }),
  component: lazyRouteComponent(() => loaded(import("./pages/compare/compare")), "ComparePage"),
});

const sideBySide = createRoute({
  getParentRoute: () => root,
  path: "/compare/attempts",
  validateSearch: (search: Record<string, unknown>): { a?: string; b?: string; task?: string; trial?: number } => ({
    a: text(search.a),
    b: text(search.b),
    task: text(search.task),
    trial: whole(search.trial),
  }),
  component: lazyRouteComponent(() => loaded(import("./pages/side-by-side/side-by-side")), "SideBySidePage"),
});

const costs = createRoute({
  getParentRoute: () => root,
  path: "/costs",
  validateSearch: costsSearch,
  component: lazyRouteComponent(() => loaded(import("./pages/costs/costs")), "CostsPage"),
});

const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  validateSearch: healthSearch,
  component: lazyRouteComponent(() => loaded(import("./pages/health/health")), "HealthPage"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  validateSearch: (search: Record<string, unknown>): { section?: SectionName } => ({
    section: chosen(search.section, SECTIONS),
  }),
  component: lazyRouteComponent(() => loaded(import("./pages/settings/settings")), "SettingsPage"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  validateSearch: (
    search: Record<string, unknown>,
  ): { action?: string; actor?: string; day?: string; cursor?: string } => ({
    action: text(search.action),
    actor: text(search.actor),
    day: text(search.day),
    cursor: text(search.cursor),
  }),
  component: lazyRouteComponent(() => loaded(import("./pages/audit/audit")), "AuditPage"),
});

const datasets = createRoute({
  getParentRoute: () => root,
  path: "/datasets",
  component: lazyRouteComponent(() => loaded(import("./pages/datasets/datasets")), "DatasetsPage"),
});

const bring = createRoute({
  getParentRoute: () => root,
  path: "/datasets/new",
  component: lazyRouteComponent(() => loaded(import("./pages/bring/bring")), "BringPage"),
});

const evaluate = createRoute({
  getParentRoute: () => root,
  path: "/datasets/$dataset/evaluate",
  component: lazyRouteComponent(() => loaded(import("./pages/evaluate/evaluate")), "EvaluatePage"),
});

const dataset = createRoute({
  getParentRoute: () => root,
  path: "/datasets/$dataset",
  validateSearch: datasetSearch,
  component: lazyRouteComponent(() => loaded(import("./pages/datasets/dataset")), "DatasetPage"),
});

const evaluators = createRoute({
  getParentRoute: () => root,
  path: "/evaluators",
  validateSearch: (search: Record<string, unknown>): { show?: string } => ({ show: text(search.show) }),
  component: lazyRouteComponent(() => loaded(import("./pages/evaluators/evaluators")), "EvaluatorsPage"),
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: jobsSearch,
  component: lazyRouteComponent(() => loaded(import("./pages/jobs/jobs")), "JobsPage"),
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$job",
  validateSearch: jobSearch,
  component: lazyRouteComponent(() => loaded(import("./pages/jobs/job")), "JobPage"),
});

const attempt = createRoute({
  getParentRoute: () => root,
  path: "/attempts/$attempt",
  validateSearch: attemptSearch,
  loader: ({ params, location, context }) =>
    askAhead(context.client, params.attempt, attemptSearch(location.search).step),
  staleTime: Number.POSITIVE_INFINITY, // once; the page itself keeps what it shows fresh
  component: lazyRouteComponent(() => loaded(import("./pages/attempt/attempt")), "AttemptPage"),
});

export const router = createRouter({
  parseSearch: parseSearchWith(parsed),
  stringifySearch: stringifySearchWith(JSON.stringify, quoted),
  defaultErrorComponent: Broken,
  routeTree: root.addChildren([
    home,
    setup,
    runSets,
    launch,
    runSet,
    attempt,
    leaderboard,
    compare,
    sideBySide,
    datasets,
    bring,
    dataset,
    evaluate,
    evaluators,
    jobs,
    job,
    costs,
    health,
    settings,
    audit,
  ]),
  context: { client: undefined as never }, // given with the page
  defaultPreload: false,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
