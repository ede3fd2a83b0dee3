/**
 * The least that serves a small file with this runtime: its bytes are in memory, its address is
 * looked at by nobody, and no framework stands between. What a download takes here no change of the
 * gateway can save. `bun bench/least/files.ts BYTES` prints its port.
 */
const file = new Uint8Array(Number(process.argv[2])).fill(99);
/** As many as the gateway sends, which decide what a browser may do with the bytes. */
const headers = {
  'content-type': 'video/mp4',
  'accept-ranges': 'bytes',
  etag: `"${'a'.repeat(64)}"`,
  'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT',
  'cache-control': 'private, no-store',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-request-id': '00000000-0000-0000-0000-000000000000',
};

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => new Response(file, { headers }),
});
process.stdout.write(`${server.port}\n`);

export {};
