// n8n's node "OpenAI" as its package has it. What the engine gives a node is written here:
// parameters, the credential, HTTP and files. Prints one line of JSON for each operation.
import { createRequire } from 'node:module';

const { GATE, KEY } = process.env;
const require = createRequire(`${process.cwd()}/`);
const node = (file) => require(`./n8n/package/dist/nodes/vendors/OpenAi/${file}.js`);
const FILE = { fileName: 'a.png', mimeType: 'image/png', bytes: Buffer.alloc(500, 1) };

/** Sends as the engine does: a form whole; an answer is JSON unless bytes are asked for. */
async function send(_credential, { uri, method, headers, body, formData, json, qs }) {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(qs ?? {})) url.searchParams.set(name, value);
  const sent = formData ? formData.getBuffer() : body && JSON.stringify(body);
  const type = formData || !sent ? {} : { 'content-type': 'application/json' };
  const own = { authorization: `Bearer ${KEY}`, ...type, ...headers };
  const response = await fetch(url, { method, headers: own, body: sent });
  if (!response.ok) throw new Error(`${response.status} ${(await response.json()).error?.code}`);
  if (json) return response.json();
  const bytes = Buffer.from(await response.arrayBuffer());
  return method === 'GET' ? { headers: Object.fromEntries(response.headers), body: bytes } : bytes;
}

const context = (parameters) => ({
  getNode: () => ({ name: 'OpenAI', type: 'openAi', typeVersion: 2.3 }),
  getNodeParameter: (name, _item, otherwise) => parameters[name] ?? otherwise,
  getCredentials: async () => ({ apiKey: KEY, url: GATE }),
  getExecutionCancelSignal: () => undefined,
  helpers: {
    requestWithAuthentication: send,
    prepareBinaryData: async (bytes, fileName) => ({ fileName, size: bytes.length }),
    assertBinaryData: () => FILE,
    getBinaryDataBuffer: async () => FILE.bytes,
    binaryToBuffer: async (bytes) => bytes,
  },
});
const run = (operation, parameters) =>
  node(`v2/actions/${operation}.operation`).execute.call(context({ options: {}, ...parameters }), 0);

async function row(call, work, refusal = '') {
  const outcome = await work().then(
    (failed) => (failed ? `unexpected: ${failed}` : 'ok'),
    (error) => error.message,
  );
  console.log(JSON.stringify({ call, outcome, refusal }));
}
const isEmpty = ([item]) => !(item?.binary?.data?.size > 0) && 'nothing';

await row('images.generate', async () => isEmpty(await run('image/generate', { modelId: 'chat-x', prompt: 'a cat' })));
await row('images.edit', async () => {
  const parameters = { modelId: 'chat-x', prompt: 'a cat', binaryPropertyName: 'data' };
  return !(await run('image/edit', parameters))[0]?.json.b64_json && 'no image';
});
await row('audio.speech', async () =>
  isEmpty(await run('audio/generate', { model: 'chat-x', input: 'hello', voice: 'alloy' })),
);
// The node names this model, whatever one wants.
await row('audio.transcriptions', async () => {
  const [item] = await run('audio/transcribe', { binaryPropertyName: 'data' });
  return !item?.json.text && 'no text';
});
await row('videos.createAndPoll', async () => {
  const parameters = { prompt: 'a lighthouse [duration=0.3]', seconds: 4, size: '1280x720' };
  return isEmpty(await run('video/generate', { modelId: 'demo-video', ...parameters }));
});
await row('unknown model', () => run('image/generate', { modelId: 'nobody', prompt: 'a cat' }), '404 model_not_found');
