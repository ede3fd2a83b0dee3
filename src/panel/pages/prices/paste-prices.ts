import { readDecimal } from '../../ui/form/decimal.ts';
import { expressionForm, type PriceDraft, type PriceForm, plainAmount } from './price-draft.ts';

/** Pasted lines of a spreadsheet, as cells; null for a text that one field takes. */
export function readCells(text: string): string[][] | null {
  const lines = text.split(/\r?\n/);
  while (lines.length > 1 && lines.at(-1)?.trim() === '') lines.pop();
  return lines.length > 1 || text.includes('\t') ? lines.map((line) => line.split('\t')) : null;
}

/** The amount of a cell as a decimal, empty for an empty cell; null where it is none. */
export function readCell(cell: string, language: string): string | null {
  const reading = readDecimal(cell, language);
  return 'fault' in reading || reading.decimal.startsWith('-') ? null : reading.decimal;
}

type Row = { forms: readonly PriceForm[] };
type PasteOptions<R extends Row> = {
  /** The rows below each other, from that of the field on. */
  rows: readonly R[];
  lines: readonly (readonly string[])[];
  /** The place of the field among those of its row. */
  field: number;
  read(row: R): PriceDraft;
  language: string;
};

/**
 * Fills fields from one of a row on, to the right and down. An empty cell leaves its field as it
 * is. A line that does not fit its row, or has none, is skipped: the row keeps its price.
 */
export function pasteAmounts<R extends Row>({
  rows,
  lines,
  field,
  read,
  language,
}: PasteOptions<R>): {
  drafts: ReadonlyMap<R, PriceDraft>;
  skipped: number;
} {
  const drafts = new Map<R, PriceDraft>();
  let skipped = 0;
  for (const [index, cells] of lines.entries()) {
    const amounts = cells.map((cell) => readCell(cell, language));
    if (amounts.every((amount) => amount === '')) continue;
    const row = rows[index];
    const draft = row && fillFields({ draft: read(row), forms: row.forms }, amounts, field);
    if (draft) drafts.set(row, draft);
    else skipped += 1;
  }
  return { drafts, skipped };
}

function fillFields(
  { draft, forms }: { draft: PriceDraft; forms: readonly PriceForm[] },
  amounts: readonly (string | null)[],
  first: number,
): PriceDraft | undefined {
  const form = draft.form === expressionForm ? undefined : forms.find(({ id }) => id === draft.form);
  if (form === undefined) return undefined;
  const values = form.by?.values ?? [plainAmount];
  const filled: [string, string][] = [];
  for (const [index, amount] of amounts.entries()) {
    if (amount === '') continue;
    const value = values[first + index];
    if (amount === null || value === undefined) return undefined;
    filled.push([value, amount]);
  }
  return { ...draft, amounts: { ...draft.amounts, ...Object.fromEntries(filled) } };
}
