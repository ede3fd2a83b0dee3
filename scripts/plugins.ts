import { join } from 'node:path';
import { TEST_LIMIT_MS } from '../test/support/far-limits.ts';
import { buildExecutable } from './build.ts';
import { root } from './hash-inputs.ts';

/**
 * npm run plugins: the contract as published. A corpus of manifests and hook shapes is taken and
 * refused as its document says, and plugins that use all of it, ten of them as strangers publish
 * theirs, do the main job on each surface of the compiled executable: images, shared models,
 * streams of events, another gateway as vendor, and a marketplace from the list to the last
 * roll-back.
 */
const FILES = [
  'test/plugins/corpus.test.ts',
  'test/plugins/changelog.test.ts',
  'test/plugins/public-style.test.ts',
  'test/binary/published-plugins.full.test.ts',
  'test/tasks/submit-streams.test.ts',
  'test/tasks/shared-models.test.ts',
  'test/tasks/move-plugin.test.ts',
  'test/http/v1/image-protocol.test.ts',
  'test/binary/two-gateways.full.test.ts',
  'test/binary/market-life.test.ts',
];

await buildExecutable();
const tests = Bun.spawn(
  [
    process.execPath,
    'test',
    `--timeout=${TEST_LIMIT_MS}`,
    ...FILES.map((file) => join(root, file)),
    ...process.argv.slice(2),
  ],
  {
    cwd: root,
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'inherit',
  },
);
process.exitCode = await tests.exited;
