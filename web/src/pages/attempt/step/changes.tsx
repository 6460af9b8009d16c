import { changedRows, LineDiff, type Row } from "../../../parts/line-diff";
import type { Edit } from "../edits";

/** What an edit changed, line by line; loaded when first needed. */
export default function Changes({ edit, expanded, expand }: { edit: Edit; expanded: boolean; expand: () => void }) {
  const rows = edit.kind === "patch" ? patchRows(edit.patch) : changedRows(edit.before, edit.after);
  return <LineDiff title={edit.path || "file"} rows={rows} expanded={expanded} expand={expand} hint="." />;
}

function patchRows(patch: string): Row[] {
  return patch.split("\n").map((line) => {
    if (line.startsWith("+") && !line.startsWith("+++")) return { sign: "+", text: line.slice(1) };
    if (line.startsWith("-") && !line.startsWith("---")) return { sign: "−", text: line.slice(1) };
    return { sign: " ", text: line.replace(/^ /, "") };
  });
}
