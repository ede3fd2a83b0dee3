// The AI SDK of Vercel with its provider for OpenAI itself, pointed at the gateway.
import { createOpenAI } from '@ai-sdk/openai';
import { generateImage, generateText } from 'ai';

const { GATE: baseURL, KEY: apiKey } = process.env;
const gate = createOpenAI({ baseURL, apiKey });
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

async function row(call, work, refusal = '') {
  const outcome = await work().then(
    (failed) => (failed ? `unexpected: ${failed}` : 'ok'),
    (error) => `${error.name} ${error.statusCode ?? ''} ${error.data?.error?.code ?? error.message}`,
  );
  console.log(JSON.stringify({ call, outcome, refusal }));
}

await row('chat', async () => {
  const { text } = await generateText({ model: gate.chat('chat-x'), prompt: 'how is the weather' });
  return !text && 'no text';
});
await row('images.generate', async () => {
  const { images } = await generateImage({ model: gate.image('chat-x'), prompt: 'a cat' });
  return images.length === 0 && 'no image';
});
await row('images.edit', async () => {
  const prompt = { text: 'a blue cat', images: [picture] };
  const { images } = await generateImage({ model: gate.image('chat-x'), prompt });
  return images.length === 0 && 'no image';
});
await row(
  'unknown model',
  () => generateText({ model: gate.chat('nobody'), prompt: 'how is the weather' }),
  '404 model_not_found',
);
