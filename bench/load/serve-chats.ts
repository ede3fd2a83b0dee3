/**
 * A vendor of chats that costs little, as a process of its own. A chat is answered whole, or as 100
 * events with what it used: at once, or within a second for the user `paced`. Prints its port.
 */
const EVENTS = 100;
const PAUSE_MS = 10;
const usage = { prompt_tokens: 20, completion_tokens: EVENTS, total_tokens: 20 + EVENTS };
const shared = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'chat-x' };

const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const words = Array.from({ length: EVENTS }, (_, index) =>
  event({
    ...{ ...shared, object: 'chat.completion.chunk' },
    choices: [{ index: 0, delta: { content: ` word${index}` }, logprobs: null, finish_reason: null }],
  }),
);
const LAST = `${event({ ...shared, choices: [], usage })}${event('[DONE]')}`;
const STREAM = `${words.join('')}${LAST}`;
const WHOLE = JSON.stringify({
  ...{ ...shared, object: 'chat.completion', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'A clear day.' }, finish_reason: 'stop' }],
});

const pace = () =>
  new ReadableStream<string>({
    async start(controller) {
      for (const word of words) {
        controller.enqueue(word);
        await Bun.sleep(PAUSE_MS);
      }
      controller.enqueue(LAST);
      controller.close();
    },
  });

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  // The gateway keeps idle connections for some seconds; the vendor must keep them longer.
  idleTimeout: 60,
  async fetch(request) {
    const { stream, user } = (await request.json()) as { stream?: boolean; user?: string };
    const type = stream ? 'text/event-stream' : 'application/json';
    const body = !stream ? WHOLE : user === 'paced' ? pace() : STREAM;
    return new Response(body, { headers: { 'content-type': type } });
  },
});
process.stdout.write(`${server.port}\n`);

export {};
