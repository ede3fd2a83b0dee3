/**
 * An OpenAI-like vendor of chats, embeddings, images and audio on a socket. It counts the tokens
 * that it sells itself, so that a bill can be compared with its count. The request's `user` says
 * how it behaves: `slow` (waits after its first words, until `release`), `hang` (before its
 * answer), `broken` (its connection breaks after the first words), `silent` (reports no usage),
 * `400`, `500`.
 */
import { createServer, type ServerResponse } from 'node:http';
import { takeRequest, type VendorRequest } from './relay-vendor.ts';

export type Sold = { input: number; output: number; cached: number; images: number; seconds: number };

export type ChatVendor = {
  url: string;
  key: string;
  requests: VendorRequest[];
  /** What it has reported, or would have reported, of all answers that were read to their end. */
  sold: Sold;
  /**
   * Sends this body as its next answer, whatever the request is; default type: JSON. It
   * holds all pieces but the first until `release`.
   */
  answerNext(body: string | Uint8Array | readonly string[], type?: string, encoding?: string): void;
  /** Lets go of what `hang` and `slow` hold. */
  release(): void;
  /** Streams that are open, and those whose client left. */
  streams: { open: number; left: number };
  stop(): Promise<void>;
};

export const SPOKEN = new Uint8Array(300_000).map((_, i) => i % 253);
const WORDS = ['Grüße', ' from', ' the', ' vendor', ' 👋', ' and', ' good', ' bye'];
const TOOL_ARGUMENTS = ['{"city":', '"Köln"', '}'];
const IMAGE = Buffer.from('not really a picture').toString('base64');

const VECTOR = [0.5, -0.25, 1e-7];

type Body = Record<string, unknown>;

export async function startChatVendor(key = 'sk-vendor-of-chats-0123456789'): Promise<ChatVendor> {
  const requests: VendorRequest[] = [];
  const streams = { open: 0, left: 0 };
  const sold: Sold = { input: 0, output: 0, cached: 0, images: 0, seconds: 0 };
  let held: (() => void)[] = [];
  let next: { body: string | Uint8Array | readonly string[]; headers: Record<string, string> } | undefined;
  const hold = () => new Promise<void>((resolve) => held.push(resolve));

  const sell = (usage: Partial<Sold>): void => {
    for (const [name, count] of Object.entries(usage)) sold[name as keyof Sold] += count;
  };
  const json = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };

  function openStream(response: ServerResponse): (data: unknown, event?: string) => void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    streams.open += 1;
    response.on('close', () => {
      streams.open -= 1;
      if (!response.writableFinished) streams.left += 1;
    });
    return (data, event) => {
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      response.write(`${event ? `event: ${event}\n` : ''}data: ${text}\n\n`);
    };
  }

  async function chat(body: Body, response: ServerResponse): Promise<void> {
    const messages = body.messages as Body[];
    const callsTool = Array.isArray(body.tools) && !messages.some(({ role }) => role === 'tool');
    const pieces = callsTool ? TOOL_ARGUMENTS : WORDS;
    const input = countWords(messages) + 3;
    const usage = { input, output: pieces.length, cached: input >> 1 };
    const reported = {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached },
    };
    const base = { id: `chatcmpl-${requests.length}`, created: 1, model: body.model };
    const toolCall = (text: string) => ({
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: text },
    });
    const finish = callsTool ? 'tool_calls' : 'stop';
    if (body.stream !== true) {
      const text = pieces.join('');
      const message = callsTool
        ? { role: 'assistant', content: null, tool_calls: [toolCall(text)] }
        : { role: 'assistant', content: text };
      sell(usage);
      return json(response, 200, {
        ...base,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: finish }],
        ...(body.user === 'silent' ? {} : { usage: reported }),
      });
    }
    const write = openStream(response);
    const isAsked = (body.stream_options as Body | undefined)?.include_usage === true && body.user !== 'silent';
    const chunk = (choices: unknown[], own: object = isAsked ? { usage: null } : {}) =>
      write({ ...base, object: 'chat.completion.chunk', choices, ...own });
    const delta = (value: object, reason: string | null = null) =>
      chunk([{ index: 0, delta: value, finish_reason: reason }]);
    delta({ role: 'assistant', content: callsTool ? null : '' });
    for (const [nth, piece] of pieces.entries()) {
      if (!callsTool) delta({ content: piece });
      else if (nth === 0) delta({ tool_calls: [{ index: 0, ...toolCall(piece) }] });
      else delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] });
      if (nth === 0 && body.user === 'slow') await hold();
      if (nth === 0 && body.user === 'broken') return void setTimeout(() => response.destroy(), 30);
    }
    delta({}, finish);
    if (isAsked) chunk([], { usage: reported });
    write('[DONE]');
    sell(usage);
    response.end();
  }

  function embed(body: Body, response: ServerResponse): void {
    const inputs = [body.input].flat();
    const input = countWords(inputs);
    sell({ input });
    const inBase64 = Buffer.from(Float32Array.from(VECTOR).buffer).toString('base64');
    const embedding = body.encoding_format === 'base64' ? inBase64 : VECTOR;
    json(response, 200, {
      object: 'list',
      model: body.model,
      data: inputs.map((_, index) => ({ object: 'embedding', index, embedding })),
      usage: { prompt_tokens: input, total_tokens: input },
    });
  }

  function draw(body: Body, response: ServerResponse): void {
    const images = Number(body.n ?? 1);
    const usage = { input: countWords(body.prompt), output: 100 * images };
    sell({ ...usage, images });
    const reported = {
      input_tokens: usage.input,
      // Clients that check answers need it.
      input_tokens_details: { image_tokens: 0, text_tokens: usage.input },
      output_tokens: usage.output,
      total_tokens: usage.input + usage.output,
    };
    if (body.stream === true) {
      const write = openStream(response);
      for (let nth = 0; nth < images; nth += 1) {
        const data = {
          type: 'image_generation.completed',
          b64_json: IMAGE,
          ...(nth === images - 1 ? { usage: reported } : {}),
        };
        write(data, data.type);
      }
      return void response.end();
    }
    if (body.user === 'broken') {
      const write = openStream(response);
      write({ type: 'image_generation.partial_image', b64_json: IMAGE }, 'image_generation.partial_image');
      return void setTimeout(() => response.destroy(), 30);
    }
    const data = Array.from({ length: images }, () => ({ b64_json: IMAGE }));
    json(response, 200, { created: 1, data, ...(body.user === 'silent' ? {} : { usage: reported }) });
  }

  function speak(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'audio/mpeg' });
    for (let at = 0; at < SPOKEN.length; at += 50_000) response.write(SPOKEN.subarray(at, at + 50_000));
    response.end();
  }

  function transcribe(body: Body, response: ServerResponse): void {
    const seconds = 7;
    if (body.response_format === 'srt') {
      response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
      return void response.end('1\n00:00:00,000 --> 00:00:07,000\nGrüße\n');
    }
    sell({ seconds });
    json(response, 200, { text: 'Grüße', usage: { type: 'duration', seconds } });
  }

  const server = createServer(async (incoming, response) => {
    const request = await takeRequest(incoming);
    requests.push(request);
    const { body } = request;
    if (request.headers.authorization !== `Bearer ${key}`) {
      return json(response, 401, { error: { message: 'who are you?', type: 'vendor_error', code: 'invalid_api_key' } });
    }
    if (body.user === '400' || body.user === '500') {
      return json(response, Number(body.user), {
        error: { message: 'no', type: 'vendor_error', code: 'bad', param: null },
      });
    }
    if (body.user === 'hang') await hold();
    if (next) {
      const { body: given, headers } = next;
      next = undefined;
      response.writeHead(200, headers);
      if (typeof given === 'string' || given instanceof Uint8Array) return void response.end(given);
      response.write(given[0] ?? '');
      await hold();
      return void response.end(given.slice(1).join(''));
    }
    switch (request.path) {
      case '/v1/chat/completions':
        return chat(body, response);
      case '/v1/embeddings':
        return embed(body, response);
      case '/v1/images/generations':
      case '/v1/images/edits':
        return draw(body, response);
      case '/v1/audio/speech':
        return speak(response);
      case '/v1/audio/transcriptions':
        return transcribe(body, response);
      default:
        return json(response, 404, { error: { message: 'no such path', type: 'vendor_error', code: 'not_found' } });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const release = () => {
    for (const go of held.splice(0)) go();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    key,
    requests,
    sold,
    release,
    streams,
    answerNext(body, type = 'application/json', encoding) {
      const headers = { 'content-type': type, 'content-encoding': encoding ?? '' };
      next = { body, headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')) };
    },
    async stop() {
      release();
      held = [];
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Words of all texts at any depth: this vendor's tokens. */
function countWords(value: unknown): number {
  if (typeof value === 'string') return value.split(' ').length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + countWords(inner), 0);
}
