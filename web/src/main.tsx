import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "virtual:tokens.css";
import "./design/base.css";
import { Problem } from "./api/problem";
import { me } from "./api/queries";
import { show } from "./design/preferences";
import { router } from "./routes";
import { keepFocus } from "./shell/focus";

show();
keepFocus(router);

/** A session that ended is asked about anew, which shows the way in. */
function ended(error: Error): void {
  if (error instanceof Problem && error.isUnauthenticated) void client.resetQueries({ queryKey: me.queryKey });
}

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => query.queryKey[0] !== "me" && ended(error) }),
  mutationCache: new MutationCache({ onError: ended }),
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && error instanceof Problem && error.isPassing,
    },
  },
});

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no root.");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} context={{ client }} />
    </QueryClientProvider>
  </StrictMode>,
);
