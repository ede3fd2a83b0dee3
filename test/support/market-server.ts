/** A marketplace on loopback that serves what it is told and counts what it is asked. */
import { createHash } from 'node:crypto';

type Body = string | Uint8Array<ArrayBuffer> | ((request: Request) => Response | Promise<Response>);

export type MarketServer = {
  /** Without a trailing slash. */
  url: string;
  /** What a path answers; others are 404. */
  files: Map<string, Body>;
  /** Paths in the order in which they were asked. */
  asked: string[];
  stop(): Promise<void>;
};

export function startMarket(): MarketServer {
  const files = new Map<string, Body>();
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      const body = files.get(pathname);
      if (body === undefined) return new Response('nothing here', { status: 404 });
      return typeof body === 'function' ? body(request) : new Response(new Blob([body]));
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, files, asked, stop: () => server.stop(true) };
}

export const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

type Offered = {
  key: string;
  version: string;
  source: string;
  path?: string;
  sha256?: string;
  more?: object;
  shown?: object;
};

/** An index with one entry for each plugin; the sources are put beside it. */
export function publish(
  market: MarketServer,
  folder: string,
  { plugins, shown = {} }: { plugins: readonly Offered[]; shown?: object },
): string {
  const keys = [...new Set(plugins.map(({ key }) => key))];
  const entries = keys.map((key) => {
    const versions = plugins.filter((each) => each.key === key);
    for (const { version, source } of versions) market.files.set(`${folder}/${key}/${version}.js`, source);
    return {
      key,
      name: key,
      latest: versions.at(-1)?.version,
      ...shown,
      ...versions.at(-1)?.shown,
      versions: versions.map(({ version, source, path, sha256: hash, more }) => ({
        version,
        path: path ?? `${key}/${version}.js`,
        sha256: hash ?? sha256(source),
        minApiVersion: 1,
        kind: 'task',
        ...more,
      })),
    };
  });
  market.files.set(
    `${folder}/index.json`,
    JSON.stringify({ indexVersion: 1, name: `Market ${folder}`, plugins: entries }),
  );
  return `${market.url}${folder}/index.json`;
}

/** One pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
