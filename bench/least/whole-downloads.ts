/**
 * The least that hands a vendor's file through with all parts that the gateway must have: `bun
 * bench/least/whole-downloads.ts FOLDER VENDOR_URL`. One statement reads the owner, the plugin says
 * where the file is, the gateway's client with checked addresses fetches it, and its bytes pass
 * unread. Prints its port.
 */
import { type Descriptor, openParts } from './parts.ts';

const [folder = '', vendorUrl = ''] = process.argv.slice(2);
const { store, userId, hook, send } = await openParts(folder, 'NORMAL', '../../src/plugins/factory/demo.js');

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const owner = await store.users.byId(userId);
    if (!owner) return new Response(null, { status: 404 });
    const described = await hook<Descriptor>('buildContentRequest', {
      artifactKey: 'video',
      upstreamTaskId: new URL(request.url).pathname.slice(1),
      baseUrl: vendorUrl,
      apiKey: 'a key',
      clientRequest: { method: 'GET', headers: {} },
    });
    const answer = await send(described);
    const headers = { 'content-type': String(answer.headers['content-type'] ?? ''), 'accept-ranges': 'bytes' };
    return new Response(
      answer.stream(() => {}),
      { headers },
    );
  },
});
process.stdout.write(`${server.port}\n`);
