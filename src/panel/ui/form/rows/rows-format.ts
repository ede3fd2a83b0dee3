import type { TFunction } from 'i18next';
import type { TextKey } from '../../../i18n/texts.ts';
import { groupThousands, toNumber } from '../decimal.ts';
import { describeRange, type QuantityUnit } from '../quantity.ts';

/** A field that each row has. Its value is text, as it is typed. */
export type RowColumn = {
  label: TextKey;
  kind: 'text' | 'group' | 'integer' | 'decimal' | 'choice';
  /** What a `choice` offers. */
  choices?: readonly { value: string; label: TextKey }[];
  /** The value in a new row. */
  initial?: string;
  /** What a number counts, chosen beside it, or that it is a ratio of the operator's price. */
  unit?: QuantityUnit | 'ratio' | undefined;
  /** What an empty field means, which is stored as 0. */
  zero?: TextKey;
  isOptional?: true;
  /** No two rows have the same, in any case of letters. */
  isUnique?: true;
  /** The range of a number; the least is 0 without `min`. */
  min?: number;
  max?: number;
  /** What a text must match, and what is shown if it does not. */
  pattern?: { matches(text: string): boolean; fault: TextKey };
  placeholder?: { text: string } | { key: TextKey };
  /** Said below the field of a text. */
  hint?: TextKey;
};

/** How a list or an object is edited as rows of fields. */
export type RowsFormat = {
  columns: readonly RowColumn[];
  /** `table`: a row is one line; `card`: its texts are long and take several. */
  layout: 'table' | 'card';
  /** The button that adds a row. */
  add: TextKey;
  maximum: number;
  /** The first row is always there; this text stands for its first field. */
  fixedFirst?: { alone: TextKey; amongOthers: TextKey };
};

/** `isUntouched`: nobody has changed it since it was loaded or added. */
export type Row = { id: number; cells: readonly string[]; isUntouched?: 'loaded' | 'added' };

export const toRows = (cells: readonly (readonly string[])[]): readonly Row[] =>
  cells.map((each, id) => ({ id, cells: each, isUntouched: 'loaded' }));

export const addRow = (rows: readonly Row[], { columns }: RowsFormat): readonly Row[] => [
  ...rows,
  {
    id: Math.max(-1, ...rows.map(({ id }) => id)) + 1,
    cells: columns.map(({ initial = '' }) => initial),
    isUntouched: 'added',
  },
];

/** The rows that are saved: one that was added and not touched is left out. */
export const readCells = (rows: readonly Row[]): (readonly string[])[] =>
  rows.filter(({ isUntouched }) => isUntouched !== 'added').map(({ cells }) => cells);

export const hasFaults = (t: TFunction, rows: readonly Row[], { columns }: RowsFormat): boolean =>
  rows.some((row) => columns.some((_, index) => findFault(t, { columns, rows, row, index }) !== null));

type Cell = { columns: readonly RowColumn[]; rows: readonly Row[]; row: Row; index: number; language?: string };

/**
 * What is wrong with the field of this column in this row, or null. A row that nobody touched does
 * not stand in the way of the others: it is saved as it was, or not at all.
 */
export function findFault(t: TFunction, { columns, rows, row, index, language = 'en' }: Cell): string | null {
  const column = columns[index];
  const text = row.cells[index]?.trim() ?? '';
  if (column === undefined || row.isUntouched !== undefined) return null;
  if (text === '') return column.isOptional ? null : t('rows.missing');
  if (column.kind === 'integer' || column.kind === 'decimal') return findNumberFault(t, { ...column, language }, text);
  if (column.pattern?.matches(text) === false) return t(column.pattern.fault);
  if (!column.isUnique) return null;
  const isTaken = rows.some(
    ({ id, cells }) => id !== row.id && cells[index]?.trim().toLowerCase() === text.toLowerCase(),
  );
  return isTaken ? t('rows.duplicate') : null;
}

type NumberColumn = RowColumn & { language: string };

function findNumberFault(t: TFunction, column: NumberColumn, text: string): string | null {
  const { kind, unit, min: low = 0, max: high, language } = column;
  const number = toNumber(text);
  const isInRange = number !== null && number >= low && number <= (high ?? Number.MAX_VALUE);
  if (isInRange && (kind === 'decimal' || Number.isInteger(number))) return null;
  if (high === undefined) return t('rows.atLeast', { low });
  const quantity = unit === 'ratio' ? undefined : unit;
  if (kind === 'integer' || quantity !== undefined) return describeRange(t, quantity, { low, high, language });
  return t('rows.between', { low, high: groupThousands(String(high), language) });
}
