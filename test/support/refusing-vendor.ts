/** The demo vendor behind a door that takes any key, and refuses orders of some with a status. */

export type RefusingVendor = {
  url: string;
  /** By key: the status that its orders get, and the Retry-After in seconds, if there is one. */
  refused: Map<string, number | { status: number; retryAfter: number }>;
  /** By key: how many orders came. */
  asked: Map<string, number>;
  /** The bodies of orders, as they came. */
  orders: string[];
  /** Orders whose text has one of these get 403, as a vendor refuses prompts. */
  forbidden: Set<string>;
  /** Orders whose text has one of these get 429, and a second of Retry-After. */
  throttled: Set<string>;
  stop(): Promise<void>;
};

/** `key`: what the demo vendor at `url` takes. */
export function startRefusingVendor({ url, key }: { url: string; key: string }): RefusingVendor {
  const refused: RefusingVendor['refused'] = new Map();
  const asked = new Map<string, number>();
  const orders: string[] = [];
  const [forbidden, throttled] = [new Set<string>(), new Set<string>()];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const own = (request.headers.get('authorization') ?? '').replace('Bearer ', '');
      const isOrder = request.method === 'POST';
      const body = isOrder ? await request.text() : null;
      if (body !== null) {
        asked.set(own, (asked.get(own) ?? 0) + 1);
        orders.push(body);
      }
      const isThrottled = [...throttled].some((word) => body?.includes(word));
      const refusal = isThrottled ? { status: 429, retryAfter: 1 } : isOrder ? refused.get(own) : undefined;
      const { status, retryAfter = 0 } = typeof refusal === 'object' ? refusal : { status: refusal };
      const isForbidden = [...forbidden].some((word) => body?.includes(word));
      if (status !== undefined || isForbidden) {
        const headers: Record<string, string> = retryAfter > 0 ? { 'retry-after': String(retryAfter) } : {};
        return Response.json({ error: { message: 'refused' } }, { status: status ?? 403, headers });
      }
      const headers = new Headers(request.headers);
      headers.set('authorization', `Bearer ${key}`);
      const { pathname, search } = new URL(request.url);
      return fetch(`${url}${pathname}${search}`, { method: request.method, headers, body });
    },
  });
  return { url: server.url.origin, refused, asked, orders, forbidden, throttled, stop: () => server.stop(true) };
}
