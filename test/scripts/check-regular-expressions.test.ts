import { expect, test } from 'bun:test';
import { checkRegularExpressions } from '../../scripts/check-regular-expressions.ts';
import { temporaryTree } from '../support/temporary-folder.ts';

const check = (path: string, text: string) => checkRegularExpressions(temporaryTree({ [path]: text }));

test.each([
  ['a trim of a trailing run', 'src/a.ts', 'const x = (text: string) =>\n  text.replace(/\\/+$/, "");', 'src/a.ts:2'],
  ['nested repetition', 'src/a.ts', 'export const x = /^(a+)+$/;', 'exponential'],
  ['constant text', 'src/a.ts', "export const x = new RegExp('\\\\s+$', 'u');", '/\\s+$/u takes polynomial'],
  [
    'constants put together',
    'src/a.ts',
    "const A = '\\\\s';\nexport const x = new RegExp(`${A}+$`);",
    '/\\s+$/ takes polynomial',
  ],
  ['a pattern of a route schema', 'src/a.ts', "export const x = t.String({ pattern: '^(a|a)+$' });", 'exponential'],
  ['a text that is not known', 'src/a.ts', 'export const x = (y: string) => RegExp(y);', 'constant text'],
  ['the contract', 'contracts/v1.schema.json', '{"properties":{"x":{"pattern":"^(a*)*$"}}}', 'exponential'],
  ['names of the contract', 'contracts/v1.schema.json', '{"patternProperties":{"x+$":{}}}', 'polynomial'],
])('refuses %s', (_what, path, text, finding) => {
  const findings = check(path, text);
  expect(findings).toHaveLength(1);
  expect(findings[0]).toContain(finding);
});

test.each([
  ['linear expressions', 'src/a.ts', 'export const x = [/^[a-z]{1,20}$/u, /\\s/g, new RegExp(schema.name.pattern)];'],
  ['the panel, whose text is its own user’s', 'src/panel/a.ts', 'export const x = /x+$/;'],
  ['comments and strings', 'src/a.ts', "// /x+$/\nexport const x = '/x+$/';"],
])('takes %s', (_what, path, text) => expect(check(path, text)).toEqual([]));
