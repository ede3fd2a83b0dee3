/** What the scripts of a release refuse, and what they hand to the programs that they start. */
import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireReplaceable } from '../../scripts/release/require-replaceable.ts';
import { requireTexts } from '../../scripts/release/require-texts.ts';
import { openReleaseKey } from '../../scripts/release/sign-release.ts';
import { generateSigningKey, writeSecretKeyFile } from '../../src/plugins/index.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a folder with other files is not emptied', () => {
  const folder = temporaryFolder();
  const mine = join(folder, 'mine');
  mkdirSync(mine);
  expect(() => requireReplaceable(join(folder, 'new'))).not.toThrow();
  expect(() => requireReplaceable(mine)).not.toThrow();
  writeFileSync(join(mine, 'letter.txt'), 'x');
  expect(() => requireReplaceable(mine)).toThrow('holds other files');
  writeFileSync(join(mine, 'SHA256SUMS'), '');
  expect(() => requireReplaceable(mine)).not.toThrow();
});

test('a release is refused with the list of the texts that languages lack', () => {
  expect(() => requireTexts([])).not.toThrow();
  expect(() => requireTexts(['de.json: home.title', 'zh.json: home.title'])).toThrow(
    /lack 2 texts:\nde\.json: home\.title\nzh\.json: home\.title\n/,
  );
});

test('leaked password: programs that the build starts do not see that of the key', async () => {
  const file = join(temporaryFolder(), 'release.key');
  writeFileSync(file, writeSecretKeyFile(generateSigningKey(), 'the password'));
  Object.assign(process.env, { RELEASE_KEY_FILE: file, RELEASE_KEY_PASSWORD: 'the password' });
  try {
    expect(openReleaseKey()).toBeDefined();
    const child = Bun.spawn(['env'], { stdout: 'pipe' });
    expect(await new Response(child.stdout).text()).not.toContain('the password');
  } finally {
    delete process.env.RELEASE_KEY_FILE;
  }
});
