import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render } from "@testing-library/react";

/** A part as it stands on a page: with a router for its links and a client for its questions. */
export async function shown(part: React.ReactNode) {
  const root = createRootRoute({ component: () => part });
  const router = createRouter({ routeTree: root, history: createMemoryHistory() });
  await router.load();
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  return render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
}
