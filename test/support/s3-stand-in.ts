import { createHash } from 'node:crypto';
import { sha256Hex } from '../../src/kernel/index.ts';

type Stored = { bytes: Buffer; changedAt: number; headers: Headers };
type Upload = { key: string; parts: Map<number, Buffer>; initiatedAt: number };

/** As much of S3 as the gateway uses, in this process, with one bucket and unchecked signatures. */
export type S3StandIn = {
  url: string;
  objects: Map<string, Stored>;
  uploads: Map<string, Upload>;
  /** Method and path with query of each request. */
  requests: string[];
  /** Answers instead of the bucket, or lets it answer. */
  fault?: ((request: Request, url: URL) => Response | undefined | Promise<Response | undefined>) | undefined;
  stop(): Promise<void>;
};

export const s3Error = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`, { status });

const xml = (body: string): Response => new Response(`<?xml version="1.0" encoding="UTF-8"?>${body}`);
const toEtag = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;

export function startS3StandIn(bucket = 'results'): S3StandIn {
  const standIn: Omit<S3StandIn, 'url' | 'stop'> = { objects: new Map(), uploads: new Map(), requests: [] };
  const { objects, uploads } = standIn;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 1024 ** 3,
    async fetch(request) {
      const url = new URL(request.url);
      standIn.requests.push(`${request.method} ${url.pathname}${url.search}`);
      const replaced = await standIn.fault?.(request, url);
      if (replaced) return replaced;
      const signed = request.headers.has('authorization') || url.searchParams.has('X-Amz-Signature');
      if (!signed) return s3Error(403, 'AccessDenied');
      const [, name, ...rest] = url.pathname.split('/');
      if (name !== bucket) return s3Error(404, 'NoSuchBucket');
      return rest.join('/') === '' ? list(url.searchParams) : answer(request, rest.join('/'), url.searchParams);
    },
  });

  async function answer(request: Request, key: string, query: URLSearchParams): Promise<Response> {
    const body = Buffer.from(await request.arrayBuffer());
    const announced = request.headers.get('x-amz-content-sha256');
    if (announced !== null && announced !== sha256Hex(body)) return s3Error(400, 'XAmzContentSHA256Mismatch');
    const uploadId = query.get('uploadId') ?? '';
    if (request.method === 'POST' && query.has('uploads')) {
      const id = `upload-${uploads.size + 1}-${standIn.requests.length}`;
      uploads.set(id, { key, parts: new Map(), initiatedAt: Date.now() });
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (uploadId !== '') return answerUpload(request, { key, query, uploadId, body });
    if (request.method === 'PUT') {
      if (request.headers.get('if-none-match') === '*' && objects.has(key)) return s3Error(412, 'PreconditionFailed');
      objects.set(key, { bytes: body, changedAt: Date.now(), headers: request.headers });
      return new Response(null, { headers: { etag: toEtag(body) } });
    }
    if (request.method === 'DELETE') {
      objects.delete(key);
      return new Response(null, { status: 204 });
    }
    const found = objects.get(key);
    if (!found) return request.method === 'HEAD' ? new Response(null, { status: 404 }) : s3Error(404, 'NoSuchKey');
    return send(request, query, found);
  }

  async function answerUpload(
    request: Request,
    { key, query, uploadId, body }: { key: string; query: URLSearchParams; uploadId: string; body: Buffer },
  ): Promise<Response> {
    const upload = uploads.get(uploadId);
    if (!upload) return s3Error(404, 'NoSuchUpload');
    if (request.method === 'DELETE') {
      uploads.delete(uploadId);
      return new Response(null, { status: 204 });
    }
    if (request.method === 'PUT') {
      upload.parts.set(Number(query.get('partNumber')), body);
      return new Response(null, { headers: { etag: toEtag(body) } });
    }
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>([^<]*)<\/ETag>/g)];
    const parts = named.map(([, number, etag]) => {
      const part = upload.parts.get(Number(number));
      return part && toEtag(part) === etag?.replaceAll('&quot;', '"') ? part : undefined;
    });
    if (parts.some((part) => !part)) return s3Error(400, 'InvalidPart');
    const bytes = Buffer.concat(parts.filter((part) => part !== undefined));
    objects.set(key, { bytes, changedAt: Date.now(), headers: request.headers });
    uploads.delete(uploadId);
    return xml('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
  }

  function send(request: Request, query: URLSearchParams, { bytes, changedAt }: Stored): Response {
    const headers: Record<string, string> = { etag: toEtag(bytes), 'last-modified': new Date(changedAt).toUTCString() };
    for (const name of ['content-type', 'content-disposition', 'cache-control']) {
      const value = query.get(`response-${name}`);
      if (value !== null) headers[name] = value;
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '') ?? [];
    if (from === undefined || to === undefined) return new Response(Uint8Array.from(bytes), { headers });
    headers['content-range'] = `bytes ${from}-${to}/${bytes.length}`;
    return new Response(Uint8Array.from(bytes.subarray(Number(from), Number(to) + 1)), { status: 206, headers });
  }

  function list(query: URLSearchParams): Response {
    const prefix = query.get('prefix') ?? '';
    if (query.has('uploads')) {
      const found = [...uploads].filter(([, { key }]) => key.startsWith(prefix));
      const items = found.map(
        ([id, { key, initiatedAt }]) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${new Date(initiatedAt).toISOString()}</Initiated></Upload>`,
      );
      return xml(
        `<ListMultipartUploadsResult>${items.join('')}<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>`,
      );
    }
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const isBelow = (key: string) => key.startsWith(prefix) && !key.slice(prefix.length).includes('/') && key > after;
    const keys = [...objects.keys()].filter(isBelow).sort();
    const page = keys.slice(0, Number(query.get('max-keys') ?? 1000));
    const items = page.map((key) => {
      const { bytes, changedAt } = objects.get(key) as Stored;
      return `<Contents><Key>${key}</Key><LastModified>${new Date(changedAt).toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    const next =
      page.length < keys.length
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${page.at(-1)}</NextContinuationToken>`
        : '<IsTruncated>false</IsTruncated>';
    const below = [...objects.keys()].filter((key) => query.has('delimiter') && key.startsWith(prefix));
    const folders = new Set(below.flatMap((key) => /^[^/]*\//.exec(key.slice(prefix.length)) ?? []));
    const prefixes = [...folders].map((name) => `<CommonPrefixes><Prefix>${prefix}${name}</Prefix></CommonPrefixes>`);
    return xml(`<ListBucketResult>${items.join('')}${prefixes.join('')}${next}</ListBucketResult>`);
  }

  return Object.assign(standIn, { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) });
}
