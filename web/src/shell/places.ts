import type { LucideIcon } from "lucide-react";
import {
  Activity,
  ClipboardList,
  Database,
  FileClock,
  GitCompare,
  Layers,
  ListChecks,
  Settings,
  Trophy,
  Wallet,
} from "lucide-react";
import type { Permission } from "../api/schema";

/** What the rail leads to. Judges and reviews come with their services. */
export interface Place {
  name: string;
  to: string;
  key: string;
  icon: LucideIcon;
  needs: Permission;
}

export const PLACES: readonly Place[] = [
  { name: "Run sets", to: "/run-sets", key: "r", icon: Layers, needs: "runs:read" },
  { name: "Leaderboard", to: "/leaderboard", key: "l", icon: Trophy, needs: "runs:read" },
  { name: "Compare", to: "/compare", key: "c", icon: GitCompare, needs: "runs:read" },
  { name: "Datasets", to: "/datasets", key: "d", icon: Database, needs: "datasets:read" },
  { name: "Evaluators", to: "/evaluators", key: "e", icon: ClipboardList, needs: "evaluators:read" },
  { name: "Jobs", to: "/jobs", key: "j", icon: ListChecks, needs: "runs:read" },
  { name: "Costs", to: "/costs", key: "o", icon: Wallet, needs: "usage:read" },
  { name: "Health", to: "/health", key: "h", icon: Activity, needs: "runs:read" },
  { name: "Settings", to: "/settings", key: "s", icon: Settings, needs: "self" },
  { name: "Audit log", to: "/audit", key: "a", icon: FileClock, needs: "audit:read" },
];
