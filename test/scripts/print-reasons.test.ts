import { expect, test } from 'bun:test';
import { findLost, printReasons } from '../../scripts/print-reasons.ts';

const published = printReasons({ 'a.full': '{{count}} of {{max}} places | rows are taken.', 'a.gone': 'It is gone.' });

test('a published reason stays, and keeps its parameters; its text may change and others come', () => {
  expect(findLost(published, { 'a.full': 'Full: {{max}}, {{count}}.', 'a.gone': 'Gone.', 'a.new': 'New.' })).toEqual(
    [],
  );
  expect(findLost(published, { 'a.full': '{{count}} are taken.' })).toEqual(['a.full {{max}}', 'a.gone']);
});
