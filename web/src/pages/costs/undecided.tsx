import { useQuery } from "@tanstack/react-query";
import { undecided } from "../../api/administration";
import type { Undecided } from "../../api/schema";
import { counted } from "../../design/numbers";
import { type Owner, ownerWords } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { Section } from "../../parts/section";
import styles from "./costs.module.css";
import { spent, usageWords } from "./days";

/** What was paid for attempts that brought no verdict, and whose that is. */
export function WithoutVerdict({ since, address }: { since: string; address: (owner: string) => string }) {
  const asked = useQuery(undecided(since));
  return (
    <Section title="Spent without a verdict">
      <Asked query={asked} what="spend without a verdict" rows={2}>
        {({ rows }) =>
          rows.length === 0 ? (
            <p className="muted data">Every attempt that ended in this time brought a verdict.</p>
          ) : (
            <dl className={styles.owners}>
              {rows.map((one) => (
                <OwnedBy key={one.owner} one={one} to={address(one.owner)} />
              ))}
            </dl>
          )
        }
      </Asked>
    </Section>
  );
}

function OwnedBy({ one, to }: { one: Undecided; to: string }) {
  const usage = usageWords(one);
  return (
    <div data-group={one.owner}>
      <dt>{ownerWords(one.owner as Owner)}</dt>
      <dd>
        <b>
          <Figure to={to} of={`entries without a verdict: ${ownerWords(one.owner as Owner)}`}>
            {spent(one)}
          </Figure>
        </b>{" "}
        <span className="muted">
          {counted(one.attempts, "attempt")}
          {usage && ` · ${usage}`}
        </span>
      </dd>
    </div>
  );
}
