import { Link } from "@tanstack/react-router";
import { useTitle } from "../parts/title";

/** There is no such page. */
export function NotFound() {
  useTitle("No such page");
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <Link to="/run-sets">Run sets</Link> is where everything begins.
      </p>
    </>
  );
}
