/** What the models of a plugin make, by which the list of plugins is filtered. */
import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PluginSummary } from '../../src/panel/api/types.ts';
import { findKinds } from '../../src/panel/pages/plugins/plugin-kinds.ts';

const folder = join(import.meta.dir, '../../src/plugins/factory');
type Meta = NonNullable<PluginSummary['meta']>;

test('every shipped plugin is found by what its models make', async () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const found = await Promise.all(
    files.map(async (file) => {
      const { meta } = (await import(join(folder, file))) as { meta: Meta };
      return [meta.key, [...findKinds({ meta })].sort().join(' ')] as const;
    }),
  );
  const others = Object.fromEntries(found.filter(([, kinds]) => kinds !== 'video'));
  expect(others).toEqual({
    comfyui: 'audio image video',
    elevenlabs: 'audio',
    fal: 'audio image video',
    flux: 'image',
    luma: 'image video',
    'minimax-music': 'audio',
    'qwen-image': 'image',
    replicate: 'audio image video',
    runway: 'image video',
    seedream: 'image',
    sunoapi: 'audio',
  });
});

test('a plugin that did not load is of no kind', () => {
  expect([...findKinds({ meta: null })]).toEqual([]);
});
