import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { me } from "../../api/queries";
import type { Me, Permission } from "../../api/schema";
import { prefer, type Theme, usePreferences } from "../../design/preferences";
import { Select } from "../../parts/field";
import { Forbidden } from "../../parts/states";
import { useTitle } from "../../parts/title";
import { Keys } from "./keys";
import { Members } from "./members";
import { ProviderKeys } from "./provider-keys";
import { RetentionForm } from "./retention";
import { Roles } from "./roles";
import { SECTIONS, type SectionName } from "./sections";
import styles from "./settings.module.css";

const TITLES: Record<SectionName, { title: string; needs: Permission }> = {
  keys: { title: "Keys", needs: "self" },
  members: { title: "Members", needs: "users:read" },
  roles: { title: "Roles", needs: "self" },
  providers: { title: "Providers", needs: "runs:read" },
  retention: { title: "Retention", needs: "runs:read" },
  appearance: { title: "Appearance", needs: "self" },
};

const route = getRouteApi("/settings");

/** Keys, members, what each role may, providers' keys, how long results are kept, and how this looks. */
export function SettingsPage() {
  const { section = "keys" } = route.useSearch();
  const who = useQuery(me);
  useTitle("Settings", TITLES[section].title);
  if (who.data === undefined) return null;
  const mine = SECTIONS.filter((one) => who.data.permissions.includes(TITLES[one].needs));
  return (
    <>
      <h1>Settings</h1>
      <nav className={styles.sections} aria-label="Sections of settings">
        {mine.map((one) => (
          <Link
            key={one}
            to="/settings"
            search={{ section: one === "keys" ? undefined : one }}
            activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
          >
            {TITLES[one].title}
          </Link>
        ))}
      </nav>
      <section className={styles.section} aria-label={TITLES[section].title}>
        {mine.includes(section) ? (
          <SectionOf name={section} me={who.data} />
        ) : (
          <Forbidden needs={TITLES[section].needs} />
        )}
      </section>
    </>
  );
}

function SectionOf({ name, me }: { name: SectionName; me: Me }) {
  const may = (permission: Permission) => me.permissions.includes(permission);
  switch (name) {
    case "keys":
      return <Keys me={me} />;
    case "members":
      return <Members may={may("users:write")} mine={me.role} />;
    case "roles":
      return <Roles mine={me.role} />;
    case "providers":
      return <ProviderKeys may={may("secrets:write")} looks={may("secrets:read")} />;
    case "retention":
      return <RetentionForm may={may("tenant:write")} />;
    case "appearance":
      return <Appearance />;
  }
}

function Appearance() {
  const { theme, zone } = usePreferences();
  return (
    <div className={styles.form}>
      <Select
        label="Theme"
        value={theme}
        options={[
          { value: "system", label: "as the system has it" },
          { value: "light", label: "light" },
          { value: "dark", label: "dark" },
        ]}
        onChange={(event) => prefer({ theme: event.target.value as Theme })}
      />
      <Select
        label="Times"
        value={zone}
        options={[
          { value: "local", label: "of this place" },
          { value: "utc", label: "UTC" },
        ]}
        onChange={(event) => prefer({ zone: event.target.value as "local" | "utc" })}
      />
    </div>
  );
}
