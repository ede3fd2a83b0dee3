import { expect, test } from 'bun:test';
import { rowsOptions } from '../../src/panel/pages/settings/rows-options.ts';
import { addRow, hasFaults, type Row, readCells, toRows } from '../../src/panel/ui/form/rows/rows-format.ts';
import { speak } from './speak.ts';

test('a row that nobody touched does not block a save: it stays as it was, or is none', async () => {
  const t = await speak('en');
  const format = rowsOptions.groups;
  if (format === undefined) throw new Error('groups are edited as rows');
  // A name that an import brought, and that nobody could type here.
  const rows = toRows(format.parse('{"default":1,"großes Haus":2}'));
  const [first] = rows;
  const change = (row: Row | undefined, cells: string[]): Row => ({ id: row?.id ?? 0, cells });
  const edited = addRow([change(first, ['default', '1.5']), ...rows.slice(1)], format);
  expect(hasFaults(t, edited, format)).toBe(false);
  expect(format.serialize(readCells(edited))).toBe('{"default":1.5,"großes Haus":2}');
  // What was touched is checked, also against rows that were not.
  expect(hasFaults(t, [...rows, { id: 9, cells: ['', '1'] }], format)).toBe(true);
  expect(hasFaults(t, [...rows, { id: 9, cells: ['default', '1'] }], format)).toBe(true);
  expect(hasFaults(t, [change(first, ['default', '1,2,3']), ...rows.slice(1)], format)).toBe(true);
});
