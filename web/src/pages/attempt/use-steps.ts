/** The index of an attempt's steps, followed while it grows: a question that waits, and no polling. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { pause, stepIndex, stepsAfter } from "./queries";
import { Steps } from "./steps";

export function useSteps(attempt: string) {
  const client = useQueryClient();
  const asked = useQuery(stepIndex(attempt));
  const first = useMemo(() => (asked.data ? Steps.of(asked.data) : null), [asked.data]);
  const [grown, setGrown] = useState<{ from: Steps; steps: Steps } | null>(null);
  useEffect(() => {
    if (!first?.running) return;
    const stopping = new AbortController();
    void follow(attempt, first, stopping.signal, (steps) => {
      setGrown({ from: first, steps });
      // its phase, evidence and outcome are others too
      void client.invalidateQueries({ queryKey: ["attempt", attempt], exact: true });
      if (!steps.running) void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[2] === "cell" });
    });
    return () => stopping.abort();
  }, [attempt, first, client]);
  const steps = grown !== null && grown.from === first ? grown.steps : first;
  return { steps, error: asked.error, again: () => asked.refetch() };
}

async function follow(attempt: string, from: Steps, signal: AbortSignal, tell: (steps: Steps) => void): Promise<void> {
  let steps = from;
  while (steps.running && !signal.aborted) {
    try {
      const more = await stepsAfter(attempt, steps.count, signal);
      if (signal.aborted) return;
      steps = steps.and(more);
      tell(steps);
    } catch {
      await pause(signal); // the server is away, or the page is being left
    }
  }
}
