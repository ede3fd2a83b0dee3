import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { checkSource } from '../../src/plugins/source/check-source.ts';
import { rounds } from '../support/full-run.ts';

/** The same sources in every run; a failure prints seed and path. */
const SEED = { seed: 20_261_121 };

const word = fc.constantFrom(
  ...['async', 'await', 'import', 'export', 'require', 'import.meta', "import('x')", "require('x')", 'async () => 1'],
  ...["export * from 'x'", 'for await (x of y)', 'async function f() {}'],
);

/** Statements in which a word means nothing; `n` keeps names apart. */
const harmless: ((word: string, n: number) => string)[] = [
  (text, n) => `const s${n} = "😀 ${text}";`,
  (text, n) => `const s${n} = '${text.replaceAll("'", "\\'")}';`,
  (text, n) => `const s${n} = \`${text} \${1} ${text}\`;`,
  (text, n) => `const r${n} = /${text}/.test("${text}");`,
  (text, n) => `const r${n} = 4 / 2; /[/"]${text}/g;`,
  (text) => `// "${text}\n`,
  (text) => `/* ' ${text} \n */`,
  (_, n) => `const o${n} = { async: 1, await: 2, import: 3, require: 4 };`,
  (_, n) => `const o${n} = { async() {}, await() {}, import() {}, require() {} }; o${n}.import(o${n}.async);`,
];

/** What is always a fault: text before it, the words at fault, text after, rule. */
const faulty: ((n: number) => [before: string, at: string, rule: string])[] = [
  (n) => ['', `async function f${n}() {}`, 'source.async'],
  (n) => [`const f${n} = `, 'async () => 1;', 'source.async'],
  (n) => [`const o${n} = { `, 'async m() {} };', 'source.async'],
  (n) => [`const v${n} = `, 'await 1;', 'source.await'],
  (n) => [`const v${n} = \`\${`, 'await 1}`;', 'source.await'],
  () => ['', "import 'x';", 'source.import'],
  (n) => ['', `import { a as i${n} } from 'x';`, 'source.import'],
  (n) => [`const v${n} = `, "import('x');", 'source.dynamic_import'],
  (n) => [`const v${n} = [`, 'import.meta];', 'source.import_meta'],
  (n) => [`const v${n} = `, "require('x');", 'source.require'],
  () => ['', "export * from 'x';", 'source.reexport'],
  (n) => ['', `export { a as e${n} } from 'x';`, 'source.reexport'],
];

const gap = fc.constantFrom(' ', '\n', '\r\n', '\n\n\t', ' /* é */ ', ' // 😀\n');
const piece = fc.oneof(
  fc.record({ gap, word, harmless: fc.constantFrom(...harmless) }),
  fc.record({ gap, faulty: fc.constantFrom(...faulty) }),
);

/** 1-based line and column of the text's end, columns in UTF-16 units. */
const endFor = (text: string): string => {
  const lines = text.split(/\r\n|\n/);
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
};

describe('sources made at random', () => {
  test('words are faults as code, with their line and column, and nowhere else', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        let source = '';
        const expected: string[] = [];
        for (const [n, one] of pieces.entries()) {
          source += one.gap;
          if ('harmless' in one) {
            source += one.harmless(one.word, n);
            continue;
          }
          const [before, at, rule] = one.faulty(n);
          source += before;
          expected.push(`${rule} ${endFor(source)}`);
          source += at;
        }
        const found = checkSource(source).faults.map(({ rule, line, column }) => `${rule} ${line}:${column}`);
        expect(found).toEqual(expected);
      }),
      { ...SEED, numRuns: rounds(800) },
    );
  });

  const token = fc.oneof(
    word,
    fc.constantFrom(...'(){}[];,.`"\'/*+-=<>?:!#@\\\n'),
    fc.constantFrom(
      '${',
      '=>',
      '...',
      '//',
      '/*',
      '*/',
      'function',
      'class',
      'export',
      'const',
      'return',
      'of',
      '\u2028',
      '\0',
    ),
  );

  const isJudged = (source: string): void => {
    const before = process.cpuUsage();
    const { faults, program } = checkSource(source);
    expect(program === undefined ? faults.length : 1).toBe(1);
    for (const { path, rule, message } of faults)
      expect(`${path} ${rule} ${message}`).toMatch(/^source source\.\w+ \S/);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  };

  test('checking any text ends soon and never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), isJudged), { ...SEED, numRuns: rounds(400) });
    fc.assert(
      fc.property(
        fc.array(token, { maxLength: 40 }).map((parts) => parts.join(' ')),
        isJudged,
      ),
      {
        ...SEED,
        numRuns: rounds(1500),
      },
    );
  });
});
