import { useEffect, useState } from "react";
import { contentOf, fileNameOf, headOf, type Source } from "../../parts/source";
import { formatOf } from "./naming";
import { type Preview, previewOf } from "./preview";

/** What is seen of the rows; nothing of what has none, or can't be read here. */
export function usePreview(source: Source): Preview | null {
  const [preview, setPreview] = useState<Preview | null>(null);
  useEffect(() => {
    let isWanted = true;
    if (contentOf(source).size === 0) setPreview(null);
    else void seenOf(source).then((found) => isWanted && setPreview(found));
    return () => {
      isWanted = false;
    };
  }, [source]);
  return preview;
}

/** Readers of files are loaded when one is dropped. */
async function seenOf(source: Source): Promise<Preview | null> {
  const format = formatOf(fileNameOf(source));
  if (format === "parquet") return (await import("./preview-parquet")).previewOfParquet(contentOf(source));
  const { text, isWhole } = await headOf(source);
  if (format === "csv") return (await import("./preview-csv")).previewOfCsv(text, isWhole);
  return previewOf(text, isWhole);
}
