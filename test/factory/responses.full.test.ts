/**
 * Vendors' plugins behind OpenAI's responses API on the executable, with the official client: what
 * was made is fetched by the link shown.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { faultsOfEvent, faultsOfResponse } from '../support/response-shapes.ts';
import { install } from './harness.ts';
import { type RunningVendor, startVendor, type Vendor } from './vendor.ts';

const KEYS = ['ali', 'doubao', 'gemini', 'hailuo', 'jimeng', 'kling', 'sora', 'sunoapi', 'vidu'].concat([
  'elevenlabs',
  'flux',
  'luma',
  'minimax-music',
  'pixverse',
  'runway',
  'vertex',
  'fal',
  'replicate',
  'comfyui',
  'xai',
  'openrouter',
  'seedream',
  'qwen-image',
]);
/** Their vendor answers at once, so they lack the usual names. */
const SCENARIOS: Record<string, readonly [waited: string, streamed: string]> = {
  seedream: ['text', 'group'],
  'qwen-image': ['edit', 'edit'],
};
const vendors: Vendor[] = [];
for (const key of KEYS) vendors.push(((await import(`./${key}.ts`)) as { vendor: Vendor }).vendor);

let gateway: Gateway;
let client: OpenAI;
const running = new Map<string, RunningVendor>();

beforeAll(async () => {
  gateway = await startGateway({
    env: {
      TASK_POLL_INTERVAL_SECONDS: '1',
      UPSTREAM_ALLOW_PRIVATE: 'true',
      TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '100',
      TASK_PLUGIN_PROTOCOL_KEY_CONCURRENCY: '100',
    },
  });
  const admin = await setUp(gateway);
  client = new OpenAI({ apiKey: await admin.createKey(), baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  for (const vendor of vendors) {
    const started = startVendor(vendor);
    running.set(vendor.key, started);
    await install(admin, vendor, started.url);
  }
});
afterAll(async () => {
  await gateway?.stop();
  await Promise.all([...running.values()].map((vendor) => vendor.stop()));
});

/** A scenario's request with its prompt as `input`. */
function readRequest(vendor: Vendor, name: string): { model: string; input: string } {
  const scenario = vendor.scenarios.find((candidate) => candidate.name === name);
  if (scenario?.client.via !== 'generic') throw new Error(`${vendor.key} has no generic scenario ${name}`);
  const { prompt, text, gpt_description_prompt: description, ...fields } = scenario.client.json;
  return { ...fields, model: String(fields.model), input: String(prompt ?? text ?? description) };
}

/** The first result that the text shows, as bytes in a text. */
async function download(text: string): Promise<string> {
  const address = /src="(http[^"]+\?access=[\w-]{43})"/.exec(text)?.[1];
  if (address === undefined) throw new Error(`no link in ${text}`);
  const response = await fetch(address.replace('localhost', '127.0.0.1'));
  return Buffer.from(await response.bytes()).toString('latin1');
}

const readFiles = (vendor: Vendor, name: string): string[] => {
  const artifacts = vendor.scenarios.find((scenario) => scenario.name === name)?.outcome.artifacts ?? {};
  return Object.values(artifacts).map((bytes) => Buffer.from(bytes).toString('latin1'));
};

for (const vendor of vendors) {
  describe(vendor.key, () => {
    test('waited for and read again, and streamed', async () => {
      const names = SCENARIOS[vendor.key] ?? (['success', 'busy-at-poll'] as const);
      const [waited, streamed] = await Promise.all([wait(names[0]), stream(names[1])]);
      expect(readFiles(vendor, names[0])).toContain(await download(waited));
      expect(readFiles(vendor, names[1])).toContain(await download(streamed));
      const faults = names.flatMap((name) => running.get(vendor.key)?.played(name).faults ?? []);
      expect(faults).toEqual([]);
    });
  });

  async function wait(name: string): Promise<string> {
    const response = await client.responses.create(readRequest(vendor, name));
    expect(faultsOfResponse(response)).toEqual([]);
    expect(response.status).toBe('completed');
    expect(await client.responses.retrieve(response.id)).toEqual(response);
    return response.output_text;
  }

  async function stream(name: string): Promise<string> {
    const events = [];
    for await (const event of await client.responses.create({ ...readRequest(vendor, name), stream: true }))
      events.push(event);
    expect(events.flatMap(faultsOfEvent)).toEqual([]);
    expect(events.at(-1)?.type).toBe('response.completed');
    return events.flatMap((event) => (event.type === 'response.output_text.done' ? [event.text] : [])).join('\n');
  }
}
