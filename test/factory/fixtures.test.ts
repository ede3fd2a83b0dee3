import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import type { Json, JsonObject, PluginModule, ProtocolContext } from '../../contracts/v1.d.ts';
import { lintPlugin, runFixture } from '../../src/plugins/author/index.ts';
import { type Compiler, createCompiler } from '../../src/plugins/worker/compile-plugin.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { startSandbox } from '../sandbox/start-sandbox.ts';
import { testInFullRun } from '../support/full-run.ts';

const FACTORY = new URL('../../src/plugins/factory/', import.meta.url);
const keys = readdirSync(FACTORY)
  .filter((name) => name.endsWith('.js'))
  .map((name) => name.slice(0, -'.js'.length))
  .sort();

type Case = { hook: string; member?: string; path?: string[]; expected?: unknown; expectedError?: string };
type Fixture = { cases: Case[] };

const fileFor = (name: string) => Bun.file(new URL(name, FACTORY));
const readName = ({ hook, path = [], member }: Case) => [hook, ...path, ...(member ? [member] : [])].join('.');

/** Every function that a module exports, by its path: `native.decodeText`. */
const listHooks = (exports: object, at = ''): string[] =>
  Object.entries(exports).flatMap(([name, value]) => {
    if (typeof value === 'function') return [at + name];
    return typeof value === 'object' && value !== null ? listHooks(value, `${at}${name}.`) : [];
  });

/** Their models have inputs of any name, which their vendors read as they are written. */
const TAKES_ANYTHING = new Set(['comfyui', 'demo', 'fal', 'replicate']);
/** Quantities of one of them, which its price reads or its decoder decides. */
const MORE_QUANTITIES: Readonly<Record<string, readonly string[]>> = {
  doubao: ['Resolution', 'Frames', 'Generate-Audio', 'Sample_Count', 'N'],
  kling: ['Mode', 'Sound', 'Num-Videos', 'N'],
  openrouter: ['models', 'N'],
  sora: ['duration', 'resolution', 'quality', 'n_frames', 'N'],
};

let sandbox: Sandbox;
let compiler: Compiler;
beforeAll(() => {
  sandbox = startSandbox();
  compiler = createCompiler(sandbox);
});
afterAll(() => sandbox.close());

for (const key of keys) {
  describe(key, () => {
    test('passes all checks of the contract without a warning', async () => {
      const report = await lintPlugin(await fileFor(`${key}.js`).text(), sandbox, { compiler });
      expect(report).toMatchObject({ ok: true, key, faults: [], warnings: [] });
    });

    testInFullRun('the documentation names its models and base URL before it is released', async () => {
      const text = await Bun.file(new URL('../../docs/vendors.md', import.meta.url)).text();
      const { meta } = (await import(new URL(`${key}.js`, FACTORY).href)) as PluginModule;
      const names = [
        key,
        ...meta.models,
        ...(meta.baseUrl ? [meta.baseUrl] : []),
        ...Object.keys(meta.usageSchema ?? {}),
      ];
      const missing = names.filter((name) => !text.includes(`\`${name}\``));
      expect(missing.map((name) => `add \`${name}\` to the section ${key} of docs/vendors.md`)).toEqual([]);
    });

    test('the fixture passes', async () => {
      const fixture = (await fileFor(`${key}.fixture.json`).json()) as Fixture;
      const report = await runFixture(sandbox, { compiler, source: await fileFor(`${key}.js`).text(), fixture });
      expect(report.cases.filter(({ ok }) => !ok)).toEqual([]);
      expect(report).toMatchObject({ ok: true, total: fixture.cases.length, faults: [] });
    });

    test('the fixture has a case with an expectation for every hook', async () => {
      const { cases } = (await fileFor(`${key}.fixture.json`).json()) as Fixture;
      const covered = new Set(cases.map(readName));
      const { meta: _, ...exports } = (await import(new URL(`${key}.js`, FACTORY).href)) as Record<string, object>;
      expect(listHooks(exports).filter((name) => !covered.has(name))).toEqual([]);
      expect(cases.filter((entry) => !('expected' in entry) && entry.expectedError === undefined)).toEqual([]);
    });

    test('a long or dear result for the price of a short one: no other spelling of a quantity goes on', async () => {
      const { protocols } = (await import(new URL(`${key}.js`, FACTORY).href)) as PluginModule;
      const decode = protocols?.proto_video?.decodeRequest;
      if (decode === undefined || TAKES_ANYTHING.has(key)) return;
      const spelled = ['Duration', 'SECONDS', 'dura_tion', 'ſeconds', ...(MORE_QUANTITIES[key] ?? [])];
      for (const name of spelled) {
        const value = { prompt: 'a boat', metadata: { [name]: 777_001 } };
        const request = { path: '/v1/videos', params: {}, body: { kind: 'json', value } };
        const { requestBody } = decode({ model: '', ...request } as unknown as ProtocolContext);
        expect([name, JSON.stringify(requestBody).includes('777001')]).toEqual([name, false]);
      }
    });

    // `POST /v1/tasks/<key>` comes without a decoder, so the driver hooks normalise again what a
    // decoder has normalised.
    test('normalizing twice changes nothing', async () => {
      const { cases } = (await fileFor(`${key}.fixture.json`).json()) as Fixture;
      const { protocols } = (await import(new URL(`${key}.js`, FACTORY).href)) as PluginModule;
      const decode = protocols?.proto_video?.decodeRequest ?? protocols?.proto_responses?.decodeRequest;
      for (const { expected } of cases.filter((entry) => readName(entry).includes('.decode') && entry.expected)) {
        const { model, requestBody } = expected as { model: string; requestBody?: Json };
        if (requestBody === undefined || decode === undefined) continue;
        const request = { path: '/v1/videos', params: {}, body: { kind: 'json', value: requestBody } };
        const again = decode({ model, ...request } as ProtocolContext);
        // Labels of a response that the plugin does not read go no further.
        const { metadata, ...read } = requestBody as JsonObject;
        expect(again.requestBody).toEqual(protocols?.proto_video ? requestBody : read);
      }
    });
  });
}
