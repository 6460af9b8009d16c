import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/permitted";
import { useTitle } from "../../parts/title";

/** Where the one-time link of a new server leads whoever is signed in. */
export function SetUpAlready() {
  useTitle("Set up");
  const lets = useMay("users:write");
  return (
    <>
      <h1>This installation is set up already</h1>
      <p>
        You are signed in to it: go on to the <Link to="/run-sets">run sets</Link>
        {lets && (
          <>
            , or let others in under{" "}
            <Link to="/settings" search={{ section: "members" }}>
              Settings, Members
            </Link>
          </>
        )}
        .
      </p>
    </>
  );
}
