export interface Column<Row> {
  name: string;
  /** What it means, where the name alone does not say. */
  meaning?: string;
  kind?: "text" | "number";
  cell: (row: Row) => React.ReactNode;
}

/** The heads of a table's columns. */
export function Heads<Row>({ columns, style }: { columns: readonly Column<Row>[]; style?: React.CSSProperties }) {
  return (
    <tr style={style}>
      {columns.map((column) => (
        <th key={column.name} scope="col" data-kind={column.kind} title={column.meaning}>
          {column.name}
        </th>
      ))}
    </tr>
  );
}
