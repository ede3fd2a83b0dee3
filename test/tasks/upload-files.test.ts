/**
 * A client's files on their way to the vendor: as parts, inside JSON, and again to the next
 * channel.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readClientRequest } from '../../src/http/bodies/read-client-request.ts';
import { createUploadBudget, openUploadFolder } from '../../src/http/bodies/upload-folder.ts';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openStore } from '../../src/store/index.ts';
import { startSandbox } from '../plugins/support.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { addCaller, type Engine, startEngine } from './harness.ts';

const sandbox = startSandbox();
const budget = createUploadBudget({ nodeBytes: Number.POSITIVE_INFINITY, userBytes: Number.POSITIVE_INFINITY });
const uploads = openUploadFolder({ folder: join(temporaryFolder(), 'uploads'), budget, logger: silentLogger }).of(null);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

let engine: Engine;
let busy: Server;
const refused: { contentType: string; length: number; body: Buffer }[] = [];

beforeAll(async () => {
  const store = await openStore({
    databaseUrl: '',
    dataDir: temporaryFolder(),
    synchronous: 'NORMAL',
    clock: systemClock,
    logger: silentLogger,
  });
  engine = await startEngine(store, sandbox);
  await engine.addChannel();
  busy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    refused.push({
      contentType: request.headers['content-type'] ?? '',
      length: Number(request.headers['content-length']),
      body,
    });
    response.writeHead(429).end('{}');
  });
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await engine.stop();
  await engine.store.close();
  busy.close();
  await sandbox.close();
});

async function submit(field: string, content: Uint8Array, type: string) {
  const form = new FormData();
  form.set('model', 'demo-video');
  form.set('prompt', 'a [instant]');
  form.set(field, new File([content as Uint8Array<ArrayBuffer>], 'a "cat".png', { type }));
  const request = new Request('http://gateway.local/v1/videos', { method: 'POST', body: form });
  const client = await readClientRequest(request, {}, { uploads, maxFileBytes: 1024 * 1024 });
  try {
    return await engine.surfaces.submitVideo(await addCaller(engine.store), 'request', client);
  } finally {
    await client.release();
  }
}

for (const [how, field] of [
  ['as a part', 'input_reference'],
  ['inside JSON', 'first_frame'],
] as const) {
  for (const size of [1, 1000, 65_536, 700_001]) {
    test(`${how}, ${size} bytes`, async () => {
      const content = crypto.getRandomValues(new Uint8Array(Math.min(size, 65_536)));
      const file = Buffer.alloc(size, content);
      const task = await submit(field, file, 'image/png');
      expect(task.data).toMatchObject({ image: { bytes: size, sha256: sha256(file) } });
    });
  }

  test(`${how}, again to another channel after a refusal`, async () => {
    const channelId = await engine.addChannel({
      name: `busy ${field}`,
      priority: 10,
      baseUrl: `http://127.0.0.1:${(busy.address() as AddressInfo).port}`,
    });
    const file = Buffer.alloc(500_000, crypto.getRandomValues(new Uint8Array(1000)));
    const task = await submit(field, file, 'image/png');
    expect(task.data).toMatchObject({ image: { bytes: file.length, sha256: sha256(file) } });
    await engine.channels.delete(channelId);

    const { contentType, length, body } = refused.pop() ?? { contentType: '', length: 0, body: Buffer.alloc(0) };
    expect(body.length).toBe(length);
    if (how === 'as a part') {
      const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
      expect(body.toString('latin1')).toContain('filename="a %22cat%22.png"\r\nContent-Type: image/png\r\n');
      expect(await (form.get('image') as File).bytes()).toEqual(new Uint8Array(file));
    } else {
      expect(contentType).toBe('application/json');
      const sent = JSON.parse(body.toString()) as { image: string };
      expect(sent.image).toBe(`data:image/png;base64,${file.toString('base64')}`);
    }
  });
}

test('a file above the cap is refused before anything is sent', async () => {
  const { creates } = (await (await fetch(`${engine.vendorUrl}/stats`)).json()) as { creates: number };
  await expect(submit('first_frame', new Uint8Array(1024 * 1024 + 1), 'image/png')).rejects.toMatchObject({
    code: 'http.too_large',
  });
  expect(await (await fetch(`${engine.vendorUrl}/stats`)).json()).toMatchObject({ creates });
});
