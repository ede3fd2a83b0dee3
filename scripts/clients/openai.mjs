// The official client of OpenAI for JavaScript. Prints one line of JSON for each call.
import OpenAI, { toFile } from 'openai';

const { GATE: baseURL, KEY: apiKey } = process.env;
const client = new OpenAI({ baseURL, apiKey });
const messages = [{ role: 'user', content: 'how is the weather' }];
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

async function row(call, work, refusal = '') {
  const outcome = await work().then(
    (failed) => (failed ? `unexpected: ${failed}` : 'ok'),
    (error) => `${error.constructor.name} ${error.status ?? ''} ${error.code ?? error.message}`,
  );
  console.log(JSON.stringify({ call, outcome, refusal }));
}

await row('models.list', async () => (await client.models.list()).data.length === 0 && 'no models');
await row('models.retrieve', async () => (await client.models.retrieve('chat-x')).id !== 'chat-x' && 'another model');
await row('chat', async () => {
  const { choices } = await client.chat.completions.create({ model: 'chat-x', messages });
  return !choices[0].message.content && 'no text';
});
await row('chat, streamed', async () => {
  let text = '';
  for await (const { choices } of await client.chat.completions.create({ model: 'chat-x', messages, stream: true }))
    text += choices[0].delta.content ?? '';
  return !text && 'no text';
});
await row('chat, tool call', async () => {
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }];
  const { choices } = await client.chat.completions.create({ model: 'chat-x', messages, tools });
  return choices[0].message.tool_calls?.[0]?.function.name !== 'weather' && 'no tool call';
});
await row('embeddings', async () => {
  const { data } = await client.embeddings.create({ model: 'chat-x', input: 'a cat' });
  return data[0].embedding.length === 0 && 'no vector';
});
await row('images.generate', async () => {
  const { data } = await client.images.generate({ model: 'chat-x', prompt: 'a cat' });
  return !data[0].b64_json && 'no image';
});
await row('audio.speech', async () => {
  const speech = await client.audio.speech.create({ model: 'chat-x', voice: 'alloy', input: 'hello' });
  return (await speech.arrayBuffer()).byteLength === 0 && 'no sound';
});
await row('audio.transcriptions', async () => {
  const file = await toFile(new Uint8Array(1000), 'a.mp3', { type: 'audio/mpeg' });
  return !(await client.audio.transcriptions.create({ model: 'chat-x', file })).text && 'no text';
});
let video;
await row('videos.createAndPoll', async () => {
  video = await client.videos.create({ model: 'demo-video', prompt: 'a lighthouse [duration=0.3]', seconds: '4' });
  while (video.status === 'queued' || video.status === 'in_progress') {
    await new Promise((resolve) => setTimeout(resolve, 200));
    video = await client.videos.retrieve(video.id);
  }
  return video.status !== 'completed' && video.status;
});
await row('videos.downloadContent', async () => {
  const content = await client.videos.downloadContent(video.id);
  return (await content.arrayBuffer()).byteLength === 0 && 'nothing';
});
await row('videos.list', async () => (await client.videos.list()).data[0]?.id !== video.id && 'another video');
await row('videos, relayed', async () => {
  const made = await client.videos.create({ model: 'video-x', prompt: 'a lighthouse', seconds: '4', size: '1280x720' });
  const { status, seconds, size } = await client.videos.retrieve(made.id);
  return `${status} ${seconds} ${size}` !== 'completed 4 1280x720' && `${status} ${seconds} ${size}`;
});
await row('videos.remix', () => client.videos.remix(video.id, { prompt: 'a tower' }), '400 remix_unsupported');
await row('videos.delete', async () => (await client.videos.delete(video.id)).deleted !== true && 'not deleted');
await row('responses', async () => {
  const input = 'a lighthouse [duration=0.3]';
  const { status } = await client.responses.create({ model: 'demo-video', input });
  return status !== 'completed' && status;
});
await row('responses, streamed', async () => {
  const input = 'a lighthouse [duration=0.3]';
  let last;
  for await (const { type } of await client.responses.create({ model: 'demo-video', input, stream: true })) last = type;
  return last !== 'response.completed' && last;
});
await row('unknown model', () => client.chat.completions.create({ model: 'nobody', messages }), '404 model_not_found');
await row('wrong key', () => new OpenAI({ baseURL, apiKey: 'sk-wrong' }).models.list(), '401 api_key_invalid');
await row(
  'no money',
  () => new OpenAI({ baseURL, apiKey: process.env.POOR_KEY }).videos.create({ model: 'demo-video', prompt: 'a cat' }),
  '429 insufficient_quota',
);
