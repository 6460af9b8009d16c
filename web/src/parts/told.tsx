/** What the server says: commands and names stand between backticks in it, as on the command line. */
export function Told({ text }: { text: string }) {
  return text.split("`").map((piece, at) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name
    at % 2 ? <code key={at}>{piece}</code> : piece,
  );
}
