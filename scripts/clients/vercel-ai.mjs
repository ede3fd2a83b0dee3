// The AI SDK of Vercel with its provider for OpenAI-compatible addresses.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embed, experimental_generateImage as generateImage, generateText, jsonSchema, streamText, tool } from 'ai';

const { GATE: baseURL, KEY: apiKey } = process.env;
const gate = createOpenAICompatible({ name: 'taskgate', baseURL, apiKey });
const prompt = 'how is the weather';
const inputSchema = jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] });

async function row(call, work, refusal = '') {
  const outcome = await work().then(
    (failed) => (failed ? `unexpected: ${failed}` : 'ok'),
    (error) => `${error.name} ${error.statusCode ?? ''} ${error.data?.error?.code ?? error.message}`,
  );
  console.log(JSON.stringify({ call, outcome, refusal }));
}

await row('chat', async () => !(await generateText({ model: gate('chat-x'), prompt })).text && 'no text');
await row('chat, streamed', async () => {
  let text = '';
  for await (const part of streamText({ model: gate('chat-x'), prompt }).textStream) text += part;
  return !text && 'no text';
});
await row('chat, tool call', async () => {
  const tools = { weather: tool({ description: 'The weather', inputSchema }) };
  const { toolCalls } = await generateText({ model: gate('chat-x'), prompt, tools });
  return toolCalls[0]?.toolName !== 'weather' && 'no tool call';
});
await row('embeddings', async () => {
  const { embedding } = await embed({ model: gate.textEmbeddingModel('chat-x'), value: 'a cat' });
  return embedding.length === 0 && 'no vector';
});
await row('images.generate', async () => {
  const { images } = await generateImage({ model: gate.imageModel('chat-x'), prompt: 'a cat' });
  return images.length === 0 && 'no image';
});
await row('unknown model', () => generateText({ model: gate('nobody'), prompt }), '404 model_not_found');
