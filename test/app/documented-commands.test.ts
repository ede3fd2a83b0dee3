/** Each command of the documents is one that the program understands. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { parseCommand } from '../../src/app/cli/run-cli.ts';

const root = new URL('../../', import.meta.url).pathname;
const documents = ['README.md', 'SECURITY.md'].concat(
  ...['docs', 'docs/operating'].map((folder) =>
    readdirSync(`${root}${folder}`)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
);

/** The commands in the blocks for a shell, each as its words. */
function listCommands(text: string): string[][] {
  const found: string[][] = [];
  for (const [, block = ''] of text.matchAll(/^```(?:sh|console[ \w]*)\n([\s\S]*?)^```$/gm)) {
    for (const line of block.replaceAll('\\\n', ' ').split('\n')) {
      for (const part of line.replace(/^\$ /, '').split(/\s#\s|\|\||&&|[|;&]|\$\(/)) {
        const [, rest] =
          /^\s*(?:sudo (?:-\S+ \S+ )*)?(?:\w+=\S+ )*(?:dist\/|\.\/)?taskgate(?:ctl)? (.*)$/.exec(part) ?? [];
        if (rest === undefined || rest.includes('…')) continue;
        const words = rest.replace(/\s*[<>].*$/, '').match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
        found.push(words.map((word) => word.replaceAll(/^['"]|['"]$/g, '')));
      }
    }
  }
  return found;
}

test.each(documents)('%s', (document) => {
  const refused: string[] = [];
  for (const words of listCommands(readFileSync(`${root}${document}`, 'utf8'))) {
    try {
      parseCommand(words);
    } catch (error) {
      refused.push(`taskgate ${words.join(' ')}: ${error instanceof Error ? error.message : error}`);
    }
  }
  expect(refused).toEqual([]);
});

test('the documents are read as they are written', () => {
  const text = '```sh\nexport A=1\ntaskgate backup list   # what is there\n./taskgate serve --port 1 &\n```\n';
  expect(listCommands(text)).toEqual([
    ['backup', 'list'],
    ['serve', '--port', '1'],
  ]);
});
