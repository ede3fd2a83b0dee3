/** What pasted cells of a spreadsheet make of prices. */
import { expect, test } from 'bun:test';
import { pasteAmounts, readCells } from '../../src/panel/pages/prices/paste-prices.ts';
import { expressionForm, listForms, type PriceDraft } from '../../src/panel/pages/prices/price-draft.ts';

const forms = listForms([
  { name: 'seconds', unit: 'second', label: null, values: [] },
  { name: 'resolution', unit: null, label: null, values: ['480p', '720p'] },
] as unknown as Parameters<typeof listForms>[0]);
const plain: PriceDraft = { form: 'seconds|', amounts: { '': '1' }, expression: '' };
const table: PriceDraft = { form: 'seconds|resolution', amounts: { '480p': '1', '720p': '2' }, expression: '' };
const formula: PriceDraft = { form: expressionForm, amounts: {}, expression: '0.1' };

function paste(drafts: readonly PriceDraft[], text: string, { field = 0, language = 'en' } = {}) {
  const rows = drafts.map((draft) => ({ forms, draft }));
  const lines = readCells(text) ?? [];
  const pasted = pasteAmounts({ rows, lines, field, read: ({ draft }) => draft, language });
  return [rows.map((row) => pasted.drafts.get(row)?.amounts ?? null), pasted.skipped];
}

test.each<
  [name: string, rows: PriceDraft[], text: string, amounts: (Record<string, string> | null)[], skipped: number]
>([
  ['a column', [plain, plain], '$0.5\n1.25\n', [{ '': '0.5' }, { '': '1.25' }], 0],
  ['columns', [table], '3\t4', [{ '480p': '3', '720p': '4' }], 0],
  ['a column of a table', [table, plain], '3\n4', [{ '480p': '3', '720p': '2' }, { '': '4' }], 0],
  ['an empty cell', [table, plain], '\t4\n\t', [{ '480p': '1', '720p': '4' }, null], 0],
  ['too many columns', [plain, table], '1\t2\n3\t4\t5', [null, null], 2],
  ['a formula', [formula, plain], '3\n4', [null, { '': '4' }], 1],
  ['words and negative amounts', [plain, plain], 'Price\n-1', [null, null], 2],
  ['more lines than rows', [plain], '3\n4\n5', [{ '': '3' }], 2],
])('%s', (_name, rows, text, amounts, skipped) => {
  expect(paste(rows, text)).toEqual([amounts, skipped]);
});

test('a field of a row takes the first cell, in the language of its reader', () => {
  expect(paste([table, plain], '0,5\n7', { field: 1, language: 'de' })).toEqual([
    [{ '480p': '1', '720p': '0.5' }, null],
    1,
  ]);
});

test('a single value is the field’s own', () => {
  expect(readCells('0.5\n')).toBeNull();
});
