import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { testInFullRun } from '../support/full-run.ts';
import { type Factory, readExpected, type Seen, startFactory } from './harness.ts';
import type { Vendor } from './vendor.ts';

/** The demo plugin is tested with the built-in demo vendor. */
const keys = readdirSync(new URL('../../src/plugins/factory/', import.meta.url))
  .filter((name) => name.endsWith('.js') && name !== 'demo.js')
  .map((name) => name.slice(0, -'.js'.length));
const fileFor = (key: string) => new URL(`./${key}.ts`, import.meta.url).pathname;
const played = keys.filter((key) => existsSync(fileFor(key)));

const vendors: Vendor[] = [];
for (const key of played) vendors.push(((await import(fileFor(key))) as { vendor: Vendor }).vendor);

/** All vendors run at the same time, and each test checks one scenario. */
let factory: Factory;
const playing = new Map<string, Promise<Map<string, Promise<Seen>>>>();
beforeAll(async () => {
  factory = await startFactory();
  for (const vendor of vendors) playing.set(vendor.key, factory.play(vendor));
  await Promise.allSettled(playing.values());
});
afterAll(() => factory?.stop());

testInFullRun('every factory plugin has a simulated vendor before it is released', () => {
  const missing = keys.filter((key) => !played.includes(key));
  expect(missing.map((key) => `add test/factory/${key}.ts, which exports a Vendor`)).toEqual([]);
});

for (const vendor of vendors) {
  describe(vendor.key, () => {
    for (const scenario of vendor.scenarios) {
      test(scenario.name, async () => {
        const scenarios = await playing.get(vendor.key);
        const seen = await scenarios?.get(scenario.name);
        expect(seen?.faults).toEqual([]);
        expect(seen).toEqual(readExpected(scenario));
      });
    }
  });
}
