import { expect, test } from 'bun:test';
import { readChangelog } from '../../src/plugins/market-index/read-changelog.ts';

const FRONT = `---
changelogVersion: 1
plugin: acme
version: 1.2.0
locale: en
translations:
  de: CHANGELOG.de.md
  zh-tw: CHANGELOG.zh-TW.md
  fr: ../../secret.md
---
`;
const BODY = `# Changes

## [1.2.0] - 2026-11-01

### Added

- A **model** called \`acme-3\`, see [the page](https://acme.example)
- <img src=x onerror=alert(1)> in a line

### Migration

- Prices of \`acme-1\` are by image now.

### Gossip

- nothing

## [1.1.0]

### Added

- an earlier change
`;
const acme = { key: 'acme', version: '1.2.0' };

test('the sections of the version are plain text, what to do first', () => {
  expect(readChangelog(FRONT + BODY, acme)).toEqual({
    locale: 'en',
    translations: { de: 'CHANGELOG.de.md', 'zh-TW': 'CHANGELOG.zh-TW.md' },
    sections: [
      { name: 'Migration', items: ['Prices of acme-1 are by image now.'] },
      { name: 'Added', items: ['A model called acme-3, see the page', '<img src=x onerror=alert(1)> in a line'] },
    ],
  });
});

test('a version whose heading is a link is found', () => {
  const plain = readChangelog(FRONT + BODY, acme);
  const linked = '[1.2.0]: https://acme.example/1.2.0\n[1.1.0]: https://acme.example/1.1.0\n';
  expect(readChangelog(`${FRONT}${BODY}\n${linked}`, acme)).toEqual(plain);
  expect(readChangelog(FRONT + BODY.replace('[1.2.0]', '[1.2.0](https://acme.example)'), acme)).toEqual(plain);
});

test.each([
  ['of another plugin', FRONT.replace('acme', 'other') + BODY],
  ['of another version', FRONT.replace('1.2.0', '1.3.0') + BODY],
  ['of a later form', FRONT.replace('changelogVersion: 1', 'changelogVersion: 2') + BODY],
  ['without its head', BODY],
  ['with a broken head', `---\n{ : [\n---\n${BODY}`],
  ['that is empty', ''],
])('a changelog %s is none', (_name, text) => {
  expect(readChangelog(text, acme)).toBeUndefined();
});
