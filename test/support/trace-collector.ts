/** A collector of traces that reads OTLP in JSON, with nothing of the product's. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type AnyValue = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type RawSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes?: { key: string; value: AnyValue }[];
  events?: { name: string }[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number; message?: string };
};

export type CollectedSpan = Omit<RawSpan, 'attributes'> & {
  attributes: Record<string, string | number | boolean | undefined>;
};

export type TraceCollector = {
  url: string;
  port: number;
  spans: CollectedSpan[];
  /** One entry for each request, with its path. */
  requests: { path: string; headers: IncomingHttpHeaders; body: string }[];
  resource: Record<string, unknown>;
  /** What it answers from now on; 200 until then. Spans of other answers are not collected. */
  answer(how: (response: ServerResponse) => void): void;
  stop(): Promise<void>;
};

const readValue = ({ stringValue, intValue, doubleValue, boolValue }: AnyValue) =>
  stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue));

const readAttributes = (list: RawSpan['attributes'] = []) =>
  Object.fromEntries(list.map(({ key, value }) => [key, readValue(value)]));

/** `tls`: a certificate for localhost and its key, as PEM. */
export async function startCollector(port = 0, tls?: { cert: string; key: string }): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const requests: TraceCollector['requests'] = [];
  const resource: Record<string, unknown> = {};
  const accept = (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}');
  let how: (response: ServerResponse) => void = accept;
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString();
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      if (how === accept) read(JSON.parse(body));
      how(response);
    });
  };
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);

  function read(sent: {
    resourceSpans: { resource: { attributes: RawSpan['attributes'] }; scopeSpans: { spans: RawSpan[] }[] }[];
  }): void {
    for (const one of sent.resourceSpans) {
      Object.assign(resource, readAttributes(one.resource.attributes));
      for (const scope of one.scopeSpans)
        spans.push(...scope.spans.map((span) => ({ ...span, attributes: readAttributes(span.attributes) })));
    }
  }

  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    url: tls ? `https://localhost:${bound}` : `http://127.0.0.1:${bound}`,
    port: bound,
    spans,
    requests,
    resource,
    answer(next) {
      how = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
