import { describe, expect, test } from 'bun:test';
import { checkSource } from '../../src/plugins/source/check-source.ts';

const findFaults = (source: string): string[] =>
  checkSource(source).faults.map(({ rule, line, column }) => (line === undefined ? rule : `${rule} ${line}:${column}`));

const refused: [name: string, source: string, ...faults: string[]][] = [
  ['an async function', 'async function f() {}', 'source.async 1:1'],
  ['an async arrow', '\nconst f = async () => 1;', 'source.async 2:11'],
  ['an async method', 'const o = {\n  async m() {} };', 'source.async 2:3'],
  ['an async class method', 'class A { async m() {} }', 'source.async 1:11'],
  ['an async static method', 'class A { static async m() {} }', 'source.async 1:18'],
  ['an async method on lines of its own', 'class A {\n static\n async m() {} }', 'source.async 2:2'],
  ['an async method named async', 'const o = { async async() {} };', 'source.async 1:13'],
  [
    'an async method in an async method',
    'const o = { async a() { return { async b() {} }; } };',
    'source.async 1:13',
    'source.async 1:34',
  ],
  ['an async generator method', 'const o = { async *m() {} };', 'source.async 1:13'],
  [
    'an async method with a computed name',
    'const o = { async [await 1]() {} };',
    'source.async 1:13',
    'source.await 1:20',
  ],
  ['an async function as a member', 'const o = { m: async function () {} };', 'source.async 1:16'],
  ['an async generator', 'async function* g() {}', 'source.async 1:1'],
  ['an exported async hook', 'export async function f() {}', 'source.async 1:8'],
  ['top-level await', 'const x = await 1;', 'source.await 1:11'],
  ['await in an async function', 'async function f() {\n await 1; }', 'source.async 1:1', 'source.await 2:2'],
  ['await in a plain function', 'function f() { await g(); }', 'source.await 1:16'],
  ['for await', 'async function f() { for await (const x of y) {} }', 'source.async 1:1', 'source.await 1:22'],
  ['an import', "import x from 'x';", 'source.import 1:1'],
  ['a bare import', "const a = 1;\nimport 'x';", 'source.import 2:1'],
  ['a dynamic import', "const x = import('x');", 'source.dynamic_import 1:11'],
  ['a dynamic import in a hook', 'export const f = () => {\n  return import(`x`);\n};', 'source.dynamic_import 2:10'],
  ['import.meta', 'const u = import.meta.url;', 'source.import_meta 1:11'],
  ['require', "const fs = require('fs');", 'source.require 1:12'],
  ['a re-export', "export { a } from 'x';", 'source.reexport 1:1'],
  ['a star re-export', "export * from 'x';", 'source.reexport 1:1'],
  ['a named star re-export', "export * as x from 'x';", 'source.reexport 1:1'],
  ['a syntax error', 'const a = ;', 'source.syntax 1:11'],
  ['an unclosed text', '\n\nconst a = "', 'source.syntax 3:11'],
  ['a script that is not a module', 'with (a) {}', 'source.syntax 1:1'],
  ['code inside a template', 'const a = `${await 1}`;', 'source.await 1:14'],
  ['two faults at once', "import 'x';\nrequire('y');", 'source.import 1:1', 'source.require 2:1'],
];

const accepted: [name: string, source: string][] = [
  ['the words in texts', `const a = "async await import('x') require('y')", b = 'import.meta';`],
  ['the words in comments', '// async import await\n/* require("x"); export * from "y" */'],
  [
    'the words in a regular expression',
    'const r = /async|await|import\\(|require\\(/g; const s = "a".replace(/"/g, "import x");',
  ],
  ['the words in a template', 'const a = `async ${1} await import("x")`;'],
  [
    'the words as properties',
    'const o = { async: 1, await: 2, import: 3, require: 4 }; o.import(); o.async; o.require("x");',
  ],
  ['a method called async', 'const o = { async() { return 1; } };'],
  ['a variable called async', 'const async = 1; export const f = () => async;'],
  ['require without a call', 'const o = { require: 1 }; const f = (required) => required;'],
  ['a division that looks like a regular expression', 'const a = 4 / 2; const b = "await"; const c = a / 2;'],
  ['a generator inside', 'function* g() { yield 1; } export const f = () => [...g()];'],
  ['a local export list', 'const a = 1; export { a };'],
  [
    'modern syntax',
    'class A { #x = 1; static { this.y = 2; } m() { return this.#x ?? 1n; } } export const a = [1].at(-1)?.b;',
  ],
];

describe('syntax that is refused, with its position', () => {
  test.each(refused)('%s', (_name, source, ...faults) => {
    expect(findFaults(source)).toEqual(faults);
  });
});

describe('names that do not matter', () => {
  test.each(accepted)('%s', (_name, source) => {
    expect(findFaults(source)).toEqual([]);
  });
});

test('a source above 1 MiB is refused by its bytes, one of exactly 1 MiB is not', () => {
  expect(findFaults(`//${'x'.repeat(1_048_574)}`)).toEqual([]);
  expect(findFaults(`//${'x'.repeat(1_048_575)}`)).toEqual(['source.size']);
  expect(findFaults(`//${'é'.repeat(524_288)}`)).toEqual(['source.size']);
});

test('parser bomb: deeply nested brackets are a fault, not a crash', () => {
  for (const bomb of [
    '['.repeat(900_000),
    `const a = ${'('.repeat(300_000)}1${')'.repeat(300_000)}`,
    '!'.repeat(900_000),
  ]) {
    expect(findFaults(bomb)).toEqual([expect.stringMatching(/^source\.syntax 1:\d+$/)]);
  }
});

test('quadratic bombs: ten thousands of names, labels or groups do not block the gateway', () => {
  const many = (line: (index: number) => string): string =>
    Array.from({ length: 20_000 }, (_, index) => line(index)).join('');
  const started = process.cpuUsage();
  expect(findFaults(many((i) => `let a${i};\n`))).toEqual([]);
  expect(findFaults(`${many((i) => `l${i}:`)};`)).toEqual([expect.stringMatching(/^source\.syntax 1:\d+$/)]);
  expect(findFaults(`const r = /${many((i) => `(?<n${i}>a)`)}/;`)).toEqual([
    expect.stringMatching(/^source\.syntax 1:\d+$/),
  ]);
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(5_000);
});
