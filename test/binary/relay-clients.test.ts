import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import OpenAI, { toFile } from 'openai';
import { type ChatVendor, SPOKEN, startChatVendor } from '../support/chat-vendor.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';

/** Quota of one token; 500,000 are one US dollar. */
const INPUT = 10;
const OUTPUT = 100;
const PRICE = `(${INPUT} * u("input_tokens") + ${OUTPUT} * u("output_tokens")) / 500000`;
const TEXT = 'Grüße from the vendor 👋 and good bye';
const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const;

describe('official clients on a relay channel', () => {
  let gateway: Gateway;
  let options: Parameters<typeof startGateway>[0];
  let vendor: ChatVendor;
  let admin: Administrator;
  let client: OpenAI;
  let key: string;

  beforeAll(async () => {
    vendor = await startChatVendor();
    options = { port: await freePort() };
    gateway = await startGateway(options);
    options.dataDir = gateway.dataDir;
    admin = await setUp(gateway);
    await admin.call('POST', '/api/channel', {
      name: 'relay',
      type: 1,
      key: vendor.key,
      base_url: vendor.url,
      models: ['chat-x', 'other-x'],
    });
    await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'chat-x', expression: PRICE });
    key = await admin.createKey();
    client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await vendor?.stop();
  });

  /** What the work costs here, once it is as much as the vendor sold. */
  async function assertBilledAsSold(work: () => Promise<unknown>): Promise<void> {
    const [before, { input, output }] = [await admin.quota(), vendor.sold];
    await work();
    const sold = INPUT * (vendor.sold.input - input) + OUTPUT * (vendor.sold.output - output);
    expect(sold).toBeGreaterThan(0);
    await until('the bill is the vendor’s own count', async () => before - (await admin.quota()) === sold);
  }

  test('openai: chats, streamed and not, with tool calls', async () => {
    const chat = { model: 'chat-x', messages: [{ role: 'user' as const, content: 'how is the weather' }] };
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: WEATHER } }];
    await assertBilledAsSold(async () => {
      const made = await client.chat.completions.create(chat);
      expect(made.choices[0]?.message.content).toBe(TEXT);
      expect(made.usage?.completion_tokens).toBe(8);
    });
    await assertBilledAsSold(async () => {
      let text = '';
      for await (const chunk of await client.chat.completions.create({ ...chat, stream: true })) {
        // The client asked for no usage, and a chunk without choices would break many of them.
        text += (chunk.choices[0] as { delta: { content?: string } }).delta.content ?? '';
        expect(chunk.usage ?? null).toBeNull();
      }
      expect(text).toBe(TEXT);
    });
    await assertBilledAsSold(async () => {
      const stream = client.chat.completions.stream({ ...chat, tools, stream_options: { include_usage: true } });
      const { choices, usage } = await stream.finalChatCompletion();
      expect(choices[0]?.message.tool_calls?.[0]).toMatchObject({
        function: { name: 'weather', arguments: '{"city":"Köln"}' },
      });
      expect(usage?.completion_tokens).toBe(3);
    });
  });

  test('bill evasion: a stream that its client leaves before the usage is billed as sold', async () => {
    await assertBilledAsSold(async () => {
      const { output } = vendor.sold;
      const stream = await client.chat.completions.create({
        model: 'chat-x',
        messages: [{ role: 'user', content: 'slowly' }],
        user: 'slow',
        stream: true,
      });
      await stream[Symbol.asyncIterator]().next();
      stream.controller.abort();
      vendor.release();
      await until('the vendor has sold all of it', () => vendor.sold.output > output);
    });
  });

  test('openai: embeddings, images, speech and transcriptions', async () => {
    await assertBilledAsSold(async () => {
      const { data } = await client.embeddings.create({
        model: 'chat-x',
        input: ['one two', 'three'],
        encoding_format: 'float',
      });
      expect(data.map(({ embedding }) => embedding)).toEqual([
        [0.5, -0.25, 1e-7],
        [0.5, -0.25, 1e-7],
      ]);
    });
    await assertBilledAsSold(async () => {
      const { data } = await client.images.generate({ model: 'chat-x', prompt: 'a cat', n: 2 });
      expect(data).toHaveLength(2);
    });
    const image = await toFile(new Uint8Array(1000), 'cat.png', { type: 'image/png' });
    await assertBilledAsSold(async () => {
      await client.images.edit({ model: 'chat-x', prompt: 'a dog', image });
      expect(vendor.requests.at(-1)?.body).toMatchObject({ image: 'cat.png:image/png:1000', prompt: 'a dog' });
    });
    const speech = await client.audio.speech.create({ model: 'other-x', input: 'Grüße', voice: 'alloy' });
    expect(speech.headers.get('content-type')).toBe('audio/mpeg');
    expect(new Uint8Array(await speech.arrayBuffer())).toEqual(SPOKEN);
    const file = await toFile(new Uint8Array(5000), 'a.mp3', { type: 'audio/mpeg' });
    expect(await client.audio.transcriptions.create({ model: 'other-x', file })).toMatchObject({ text: 'Grüße' });
    expect(await client.audio.transcriptions.create({ model: 'other-x', file, response_format: 'srt' })).toContain(
      '-->',
    );
  });

  test('@ai-sdk/openai-compatible: texts, streams, tool calls and embeddings', async () => {
    const provider = createOpenAICompatible({ name: 'gate', apiKey: key, baseURL: `${gateway.url}/v1` });
    const model = provider('chat-x');
    const tools = {
      weather: tool({
        inputSchema: jsonSchema<{ city: string }>(WEATHER),
        execute: async ({ city }) => `sunny in ${city}`,
      }),
    };
    const prompt = 'how is the weather';
    await assertBilledAsSold(async () => expect((await generateText({ model, prompt })).text).toBe(TEXT));
    await assertBilledAsSold(async () => {
      const { textStream } = streamText({ model, prompt });
      let text = '';
      for await (const part of textStream) text += part;
      expect(text).toBe(TEXT);
    });
    await assertBilledAsSold(async () => {
      const streamed = streamText({ model, prompt, tools, stopWhen: stepCountIs(2) });
      const steps = await streamed.steps;
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
      expect(steps[0]?.toolResults[0]).toMatchObject({ input: { city: 'Köln' }, output: 'sunny in Köln' });
      expect(await streamed.text).toBe(TEXT);
    });
    await assertBilledAsSold(async () => {
      const { embedding } = await embed({ model: provider.embeddingModel('chat-x'), value: 'one two' });
      expect(embedding).toHaveLength(3);
    });
  });

  test('refused: a model that no channel relays, and a body of the wrong kind', async () => {
    const post = (path: string, body: object) => ask(`${gateway.url}${path}`, { token: key, body });
    for (const path of ['/v1/chat/completions', '/v1/embeddings', '/v1/images/generations', '/v1/audio/speech']) {
      expect(await post(path, { model: 'nobody' })).toMatchObject({
        status: 404,
        body: { error: { code: 'model_not_found', param: 'model' } },
      });
      expect((await post(path, {})).status).toBe(400);
    }
    expect((await post('/v1/audio/transcriptions', { model: 'chat-x' })).status).toBe(415);
  });

  test('a stream killed with the gateway is refunded, and the ledger adds up', async () => {
    const balance = await admin.quota();
    const stream = await client.chat.completions.create({
      model: 'chat-x',
      messages: [{ role: 'user', content: 'slowly' }],
      user: 'slow',
      stream: true,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    expect(await admin.quota()).toBeLessThan(balance);
    await gateway.kill();
    await chunks
      .next()
      .then(() => chunks.next())
      .catch(() => undefined);
    gateway = await startGateway(options);
    await until('it is refunded', async () => (await admin.quota()) === balance);
    vendor.release();
    expect(await runBeside(gateway, ['doctor', '--json'])).toMatchObject({ code: 0 });
  });
});
