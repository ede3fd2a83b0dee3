/** One column of a CSV file; JSON lines have the whole row. */
export type ExportColumn<Row> = { name: string; value: (row: Row) => string | number | null | undefined };

export type ExportFormat = 'csv' | 'jsonl';

/**
 * Begins what a spreadsheet evaluates: a formula in a prompt or a name would run where the file is
 * opened. Where Chinese or Japanese is written, the wide signs begin one too.
 */
const FORMULA = /^[\s]*[=+\-@|\t\r＝＋－＠｜]/;
/**
 * Where the decimal sign is a comma, spreadsheets split lines at semicolons, and quotes within such
 * a part mean nothing: a cell may begin anywhere behind one of these.
 */
const LATER_FORMULA = /([;\t\r\n][ \u00a0\u3000"]*)(?=[=+\-@|＝＋－＠｜])/g;
const SPECIAL = /[",\r\n]/;

/** A cell as RFC 4180 has it. What looks like a formula begins with an apostrophe. */
export function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = (FORMULA.test(value) ? `'${value}` : value).replaceAll(LATER_FORMULA, "$1'");
  return SPECIAL.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The text of some rows; of the first ones of a CSV file, with the heading. */
export function writeRows<Row>(
  rows: readonly Row[],
  { format, columns, isFirst }: { format: ExportFormat; columns: readonly ExportColumn<Row>[]; isFirst: boolean },
): string {
  if (format === 'jsonl') return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  // Spreadsheets take a file for UTF-8 by its mark.
  const heading = isFirst ? `\uFEFF${columns.map(({ name }) => name).join(',')}\r\n` : '';
  const lines = rows.map((row) => `${columns.map(({ value }) => csvCell(value(row))).join(',')}\r\n`);
  return heading + lines.join('');
}

/** Unix seconds as ISO 8601; empty for 0. */
export const isoTime = (seconds: number): string => (seconds > 0 ? new Date(seconds * 1000).toISOString() : '');

const QUOTA_PER_USD = 500_000;
export const usd = (quota: number): number => quota / QUOTA_PER_USD;
