/** A WeChat server on loopback: it checks what it is asked, and answers as the test says. */

export const WECHAT_TOKEN = 'wechat-server-token-of-the-tests';

export type WeChatMood = 'well' | 'hang' | 'garbage' | 'html' | 'broken' | 'redirect' | 'odd subject' | 'endless';

export type WeChatServer = {
  url: string;
  /** The person of each code. */
  codes: Map<string, string>;
  mood: WeChatMood;
  /** What was wrong with requests; empty when all were as they should be. */
  complaints: string[];
  /** The codes that were asked for. */
  asked: string[];
  /** Requests for a picture: `/pictures/qr.png`, and some that are not pictures. */
  pictures: number;
  stop(): Promise<void>;
};

/** One black pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
);

const pictures: Readonly<Record<string, () => Response>> = {
  '/pictures/qr.png': () => new Response(PNG, { headers: { 'content-type': 'text/html' } }),
  '/pictures/page': () => new Response('<script>alert(1)</script>', { headers: { 'content-type': 'image/png' } }),
  '/pictures/vector.svg': () => new Response('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  '/pictures/moved': () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:9/qr.png' } }),
  '/pictures/endless': () => new Response(Buffer.concat([PNG, Buffer.alloc(2 * 1024 * 1024)])),
};

export function startWeChatServer(): WeChatServer {
  const held = new Set<() => void>();
  const listening = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname.startsWith('/pictures/')) {
        server.pictures += 1;
        return pictures[pathname]?.() ?? new Response('Not here', { status: 404 });
      }
      const code = searchParams.get('code') ?? '';
      server.asked.push(code);
      if (request.method !== 'GET') server.complaints.push(`method ${request.method}`);
      if (pathname !== '/api/wechat/user') server.complaints.push(`path ${pathname}`);
      if ([...searchParams.keys()].join() !== 'code') server.complaints.push(`query ${[...searchParams.keys()]}`);
      if (request.headers.get('authorization') !== WECHAT_TOKEN) {
        server.complaints.push('authorization');
        return Response.json({ success: false, message: 'token' }, { status: 403 });
      }
      switch (server.mood) {
        case 'hang':
          await new Promise<void>((resolve) => held.add(resolve));
          return new Response();
        case 'garbage':
          return new Response('{"success":tr');
        case 'html':
          return new Response('<h1>Welcome</h1>', { headers: { 'content-type': 'text/html' } });
        case 'broken':
          return Response.json({ success: true, message: '', data: server.codes.get(code) }, { status: 500 });
        case 'redirect':
          return Response.redirect(`${server.url}/api/wechat/user?code=${code}&again=1`, 302);
        case 'odd subject':
          return Response.json({ success: true, message: '', data: { id: 1 } });
        case 'endless':
          return new Response('x'.repeat(3 * 1024 * 1024));
        default: {
          const subject = server.codes.get(code);
          if (subject === undefined) return Response.json({ success: false, message: 'wrong code' });
          return Response.json({ success: true, message: '', data: subject });
        }
      }
    },
  });
  const server: WeChatServer = {
    url: `http://127.0.0.1:${listening.port}`,
    codes: new Map(),
    mood: 'well',
    complaints: [],
    asked: [],
    pictures: 0,
    async stop() {
      for (const release of held) release();
      await listening.stop(true);
    },
  };
  return server;
}
