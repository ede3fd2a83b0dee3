import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkDependencies } from '../../scripts/check-dependencies.ts';
import { checkParameters } from '../../scripts/check-parameters.ts';
import { checkWords } from '../../scripts/check-words.ts';
import { temporaryTree } from '../support/temporary-folder.ts';

const TOP = { 'README.md': '', 'CONTRIBUTING.md': '', 'SECURITY.md': '', 'CHANGELOG.md': '' };

function tree(files: Record<string, string>): string {
  const base = temporaryTree({ ...TOP, ...files });
  for (const folder of ['src', 'test', 'scripts', 'bench', 'contracts', 'docs', '.github'])
    mkdirSync(join(base, folder), { recursive: true });
  return base;
}

test.each([
  [
    'a name',
    { 'src/tasks/a.ts': 'export const x = 1;\nexport const openSurely = 2;' },
    'src/tasks/a.ts:2: "openSurely"',
  ],
  ['a file name', { 'src/tasks/poll-lanes.ts': '' }, 'src/tasks/poll-lanes.ts: "lanes"'],
  ['a document', { 'docs/api.md': 'Ask whoever runs it.' }, 'docs/api.md:1: "whoever"'],
  ['a person as he', { 'src/auth/a.ts': '// The user and his sessions.' }, 'src/auth/a.ts:1: "his"'],
  [
    'a guide by the path of a lost file',
    { 'src/tasks/poll.ts': '', 'CONTRIBUTING.md': '`tasks/poll.ts` asks `tasks/gone.ts`.' },
    'CONTRIBUTING.md: tasks/gone.ts does not exist',
  ],
  [
    'a guide by the name of a lost file',
    { 'src/tasks/poll.ts': '', 'CONTRIBUTING.md': '`poll.ts` asks `gone.ts`.' },
    'CONTRIBUTING.md: gone.ts does not exist',
  ],
  [
    'a guide by a name that a file does not declare',
    { 'src/tasks/poll.ts': 'export function pollTask() {}', 'CONTRIBUTING.md': '`poll.ts` (`pollTask` or `pollAll`)' },
    'CONTRIBUTING.md: poll.ts does not declare pollAll',
  ],
  [
    'a guide by a constant that a file does not declare',
    {
      'src/tasks/poll.ts': 'const SLOW = 1;',
      'CONTRIBUTING.md': '`SLOW` in `tasks/poll.ts`, `FAST` in\n`tasks/poll.ts`',
    },
    'CONTRIBUTING.md: tasks/poll.ts does not declare FAST',
  ],
  ['a comment', { 'src/auth/a.ts': '// Counts them. Of each user, one.' }, 'src/auth/a.ts:1: ". Of "'],
  ['a wide comment', { 'src/auth/a.ts': `  // ${'x'.repeat(96)}` }, 'src/auth/a.ts:1: a comment of 101 columns'],
])('a forbidden word or width is refused in %s', (_, files, finding) => {
  expect(checkWords(tree(files as Record<string, string>))).toEqual([expect.stringContaining(finding)]);
});

test.each([
  ['the panel', { 'src/panel/i18n/en.json': '{ "a": "submitting again may buy it twice" }' }],
  ['a plugin', { 'src/plugins/factory/a.js': "description: { en: 'Songs, per piece' }" }],
  ['the API', { 'src/http/a.ts': "detail: { summary: 'Whether the process answers' }" }],
  ['an error', { 'src/kernel/reasons/a.ts': "'a.b': 'the process was killed'" }],
  ['an error of a folder', { 'src/a/b/errors.ts': "a: ['invalid', 'The video cannot be requested like this.']" }],
  ['a surface', { 'src/surfaces/a.ts': "throw refuse({ message: 'input must be a text.' })" }],
  ['a relay', { 'src/relay/a.ts': "    'The object leads to another vendor.'" }],
  ['a plugin that refuses', { 'src/plugins/factory/a.js': "throw new Error('prompt must be a text.')" }],
])('words that read as translated are refused in texts of %s', (_, files) => {
  expect(checkWords(tree(files as Record<string, string>))).toEqual([expect.stringContaining('reads as translated')]);
});

test('plain words, wide code and texts of the languages pass', () => {
  const base = tree({
    'src/auth/a.ts': `/** ${'x'.repeat(90)} */\nexport const a = '${'x'.repeat(100)}';`,
    'src/panel/i18n/a.ts': 'export const a = "her";',
    'docs/api.md': 'They say what is there, other or this.',
  });
  expect(checkWords(base)).toEqual([]);
});

test.each([
  ['a function', 'export function f(a: 1, b: 2, c: 3, d: 4) {}'],
  ['an arrow function', 'export const f = (a: 1, b: 2, c: 3, d: 4) => a;'],
  ['a method', 'export class A {\n  f(a: 1, b: 2, c: 3, d: 4) {}\n}'],
  ['a method of an interface', 'export interface A {\n  f(a: 1, b: 2, c: 3, d: 4): void;\n}'],
  ['a function type', 'export type F = (a: 1, b: 2, c: 3, d: 4) => void;'],
])('four positional parameters are refused in %s', (_, source) => {
  expect(checkParameters(tree({ 'src/a.ts': source }))).toEqual([
    expect.stringMatching(/^src\/a\.ts:[12]: 4 positional parameters, 3 is the ceiling$/),
  ]);
});

test('four positional parameters are refused in a plugin', () => {
  const plugin = { 'src/plugins/factory/a.js': 'export const hook = (a, b, c, d) => a;' };
  expect(checkParameters(tree(plugin))).toEqual([expect.stringContaining('a.js:1: 4 positional parameters')]);
});

test.each([
  [
    'three positional parameters and an object of more',
    'const f = (a: 1, b: 2, { c, d }: { c: 3; d: 4 }) => [a, b, c, d];',
  ],
  [
    'a test that takes the cells of a table’s row',
    "test.each([[1, 2, 3, 4]])('%d', (a, b, c, d) => expect(a + b).toBe(c - d));",
  ],
])('%s pass', (_, source) => {
  expect(checkParameters(tree({ 'test/a.test.ts': source }))).toEqual([]);
});

const members = (count: number, prefix = 'a'): string =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}: 1`).join('; ');

test.each([
  ['a type', `type TaskDeps = { ${members(13)} };`, 13],
  ['two types together', `type Own = { ${members(6)} };\ntype TaskParts = Own & { ${members(8, 'b')} };`, 14],
  ['a parameter', `export function bind(ctx: Own & { ${members(9)} }) {}\ntype Own = { ${members(5, 'b')} };`, 14],
  ['what a factory takes', `type Foundation = { ${members(13)} };\nfunction createApp(from: Foundation) {}`, 13],
  ['what a factory takes apart', `const composeApp = ({ a0 }: { ${members(14)} }) => a0;`, 14],
  ['a part of another', `type All = { ${members(15)} };\ntype Services = Omit<All, 'a0' | 'a1'>;`, 13],
])('more than twelve members of %s of dependencies are refused', (_, source, count) => {
  expect(checkDependencies(tree({ 'src/tasks/a.ts': source }))).toEqual([
    expect.stringContaining(`has ${count} members, 12 is the ceiling`),
  ]);
});

test('twelve members, picked ones and types of data pass', () => {
  const source = [
    `type Many = { ${members(20)} };`,
    `type TaskDeps = { ${members(12)} };`,
    "type OtherDeps = Pick<Many, 'a0' | 'a1'>;",
    `type TaskRecord = { ${members(20)} };`,
    'function createWriter(task: TaskRecord) {}',
    'function addToMany(all: Many) {}',
  ];
  expect(checkDependencies(tree({ 'src/tasks/a.ts': source.join('\n') }))).toEqual([]);
});
