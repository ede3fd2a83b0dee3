/**
 * An OpenAI-like vendor on a socket: keeps what it is sent, and plays what the request's `play`
 * says.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export type VendorRequest = {
  method: string;
  path: string;
  query: string;
  headers: Record<string, string | undefined>;
  /** The JSON body, or the fields of a form (files as `<name>:<type>:<bytes>`). */
  body: Record<string, unknown>;
  /** The bytes of a JSON body, as text. */
  text: string;
};

export type RelayVendor = {
  url: string;
  key: string;
  requests: VendorRequest[];
  /**
   * From now on, the object has this status, and usage, when it is read. `chunked`: without a
   * length.
   */
  setStatus(id: string, status: string, how?: { chunked?: boolean; usage?: object; slow?: boolean }): void;
  /** Lets go of what `hang` and `slow` hold. */
  release(): void;
  /** Streams that are open, and those whose client left. */
  streams: { open: number; left: number };
  stop(): Promise<void>;
};

/** A video's bytes. */
export const VIDEO = new Uint8Array(3000).map((_, i) => i % 251);

export const EVENTS = ['response.created', 'response.output_text.delta', 'response.completed'] as const;

/** `docile`: whatever the request says, it makes what it is asked for. */
export async function startRelayVendor(prefix = 'v', { docile = false } = {}): Promise<RelayVendor> {
  const key = `sk-vendor-${prefix}-0123456789`;
  const requests: VendorRequest[] = [];
  const streams = { open: 0, left: 0 };
  const objects = new Map<string, Record<string, unknown>>();
  const rawIds = new Map<string, string>();
  const statuses = new Map<string, { status: string; chunked: boolean; usage?: object; slow: boolean }>();
  let held: (() => void)[] = [];
  let count = 0;

  const json = (
    response: ServerResponse,
    status: number,
    { body, headers = {} }: { body: unknown; headers?: Record<string, string> },
  ) => {
    const text = asWritten(body);
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-request-id': 'of-the-vendor',
      'openai-organization': 'org-of-the-operator',
      'set-cookie': 'vendor=1',
      ...headers,
    });
    response.end(text);
  };
  /** An id of the play `named` as the request wrote it. */
  const asWritten = (body: unknown): string => {
    const written = (body as { id?: unknown }).id;
    const raw = [...rawIds].find(([id]) => id === written)?.[1];
    const text = JSON.stringify(body);
    return raw === undefined ? text : text.replace(JSON.stringify(written), () => raw);
  };
  const error = (message: string, code: string) => ({ error: { message, type: 'vendor_error', code, param: null } });
  const hold = () => new Promise<void>((resolve) => held.push(resolve));

  async function stream(response: ServerResponse, made: Record<string, unknown>, play: string): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    streams.open += 1;
    response.on('close', () => {
      streams.open -= 1;
      if (!response.writableFinished) streams.left += 1;
    });
    for (const [index, type] of EVENTS.entries()) {
      const data =
        type === 'response.output_text.delta'
          ? { type, sequence_number: index, delta: 'Grüße' }
          : { type, sequence_number: index, response: made };
      const text = JSON.stringify(data).replace(JSON.stringify(made), () => asWritten(made));
      response.write(`event: ${type}\ndata: ${text}\n\n`);
      if (index === 0 && play === 'broken-stream') return void setTimeout(() => response.destroy(), 50);
      if (index === 0 && play === 'slow') await hold();
    }
    response.end();
  }

  async function create(request: VendorRequest, response: ServerResponse): Promise<void> {
    const { body } = request;
    const wish = String(body.user ?? body.prompt ?? '');
    const [play = '', detail = ''] = wish.split(' ');
    switch (docile ? '' : play) {
      case '400':
        return json(response, 400, { body: error(`no, says ${key}`, 'bad_thing') });
      case '401':
        return json(response, 401, {
          body: error(`Incorrect API key provided: ${key.slice(0, 9)}***6789`, 'invalid_api_key'),
        });
      case '429':
        return json(response, 429, {
          body: error('slow down', 'rate_limit_exceeded'),
          headers: { 'retry-after': '7' },
        });
      case '500':
        return json(response, 500, { body: error('oops', 'server_error') });
      case 'html':
        response.writeHead(200, { 'content-type': 'text/html' });
        return void response.end('<h1>It works!</h1>');
      case 'redirect':
        response.writeHead(307, { location: '/v1/elsewhere' });
        return void response.end();
      case 'broken':
        return void response.destroy();
      case 'half': {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
        response.write('{"id":"resp_half",');
        return void setTimeout(() => response.destroy(), 50);
      }
      case 'hang':
        await hold();
        break;
    }
    count += 1;
    const [, , , origin, action] = request.path.split('/');
    const remixed = action === 'remix' ? objects.get(decodeURIComponent(origin ?? '')) : undefined;
    if (action === 'remix' && !remixed) return json(response, 404, { body: error('no such object', 'not_found') });
    const video = request.path.startsWith('/v1/videos');
    const raw = play === 'named' ? wish.slice('named '.length) : undefined;
    const given = raw === undefined ? detail : raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
    const id = play === 'same' || raw !== undefined ? given : `${video ? 'video' : 'resp'}_${prefix}${count}`;
    if (raw !== undefined) rawIds.set(id, raw);
    const made = video
      ? {
          ...{ id, object: 'video', status: 'queued', progress: 0, created_at: 1, seconds: body.seconds },
          ...(remixed ? { seconds: remixed.seconds, remixed_from_video_id: decodeURIComponent(origin ?? '') } : {}),
          ...(body.model === undefined ? {} : { model: body.model }),
          ...(play === 'fails' ? { status: 'failed' } : {}),
          ...(play === 'linked' ? { url: 'https://cdn.vendor.example/video.mp4' } : {}),
        }
      : {
          ...{ id, object: 'response', status: play === 'fails' ? 'failed' : 'completed' },
          ...{ model: body.model, secret: body.input },
          output: play === 'output' ? JSON.parse((body.metadata as { output: string }).output) : [],
        };
    objects.set(id, made);
    if (body.stream === true) return stream(response, made, play);
    json(response, 200, { body: made });
  }

  function read(request: VendorRequest, response: ServerResponse) {
    const [, , , segment = '', action] = request.path.split('/');
    const id = decodeURIComponent(segment);
    const object = objects.get(id);
    if (!object) return json(response, 404, { body: error('no such object', 'not_found') });
    if (request.method === 'DELETE')
      return json(response, 200, { body: { id, object: 'deleted', deleted: objects.delete(id) } });
    if (action === 'input_items') {
      const data = [{ id: 'msg_1', type: 'message', role: 'user', content: object.secret }];
      return json(response, 200, {
        body: { object: 'list', data, first_id: 'msg_1', last_id: 'msg_1', has_more: false },
      });
    }
    if (action === 'cancel') return json(response, 200, { body: { ...object, status: 'cancelled' } });
    const changed = statuses.get(id);
    const endWhenReleased = (rest: string) =>
      void (changed?.slow ? hold() : Promise.resolve()).then(() => response.end(rest));
    if (action === undefined && request.query.includes('stream=')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"type":"response.output_text.delta","delta":"hi"}\n\n');
      return endWhenReleased(`data: ${JSON.stringify({ response: { ...object, ...changed } })}\n\n`);
    }
    if (action !== 'content' && changed?.chunked) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":');
      const { status, usage = null } = changed;
      return endWhenReleased(
        `${JSON.stringify(id)},"status":${JSON.stringify(status)},"usage":${JSON.stringify(usage)}}`,
      );
    }
    if (action !== 'content') {
      const { status = 'completed', usage } = changed ?? {};
      return json(response, 200, { body: { ...object, status, progress: 100, ...(usage ? { usage } : {}) } });
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const [from, to] = range ? [Number(range[1]), Number(range[2])] : [0, VIDEO.byteLength - 1];
    const part = VIDEO.subarray(from, to + 1);
    response.writeHead(range ? 206 : 200, {
      'content-type': 'video/mp4',
      'content-length': String(part.byteLength),
      'accept-ranges': 'bytes',
      etag: '"v1"',
      ...(range ? { 'content-range': `bytes ${from}-${to}/${VIDEO.byteLength}` } : {}),
    });
    response.end(request.method === 'HEAD' ? undefined : part);
  }

  const server = createServer(async (incoming, response) => {
    const request = await takeRequest(incoming);
    requests.push(request);
    if (request.headers.authorization !== `Bearer ${key}`) {
      return json(response, 401, { body: error('who are you?', 'invalid_api_key') });
    }
    const isCreation =
      request.method === 'POST' && /^\/v1\/(?:responses|videos(?:\/[^/]+\/remix)?)$/.test(request.path);
    if (isCreation) await create(request, response);
    else read(request, response);
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
    streams,
    setStatus: (id, status, { chunked = false, slow = false, ...how } = {}) =>
      void statuses.set(id, { status, chunked, slow, ...how }),
    release,
    async stop() {
      release();
      held = [];
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export async function takeRequest(incoming: IncomingMessage): Promise<VendorRequest> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  const bytes = Buffer.concat(chunks);
  const { pathname, search } = new URL(incoming.url ?? '/', 'http://vendor');
  const headers = incoming.headers as Record<string, string | undefined>;
  const type = headers['content-type'] ?? '';
  const body = type.startsWith('multipart/')
    ? await readForm(bytes, type)
    : bytes.length > 0
      ? JSON.parse(`${bytes}`)
      : {};
  return { method: incoming.method ?? '', path: pathname, query: search, headers, body, text: `${bytes}` };
}

async function readForm(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Record<string, unknown>> {
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    fields[name] = typeof value === 'string' ? value : `${value.name}:${value.type}:${value.size}`;
  }
  return fields;
}
