import { expect, test } from 'bun:test';
import { decodeBase64Content } from '../../src/vendors/content/decode-base64-content.ts';

const film = (length: number, seed: number) => Uint8Array.from({ length }, (_byte, index) => (index * seed) % 251);
const films = [film(20_000, 7), film(15_001, 11), film(12_288, 13)];
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
// The second has line ends and escapes within, as some vendors write them.
const answer = JSON.stringify({
  id: 'operations/0123456789',
  thumbnail: base64(film(6000, 3)),
  videos: [
    base64(films[0] as Uint8Array),
    base64(films[1] as Uint8Array).replace(/.{76}/g, '$&\n'),
    base64(films[2] as Uint8Array),
  ],
}).replaceAll('/', '\\/');

const streamFor = (text: string, chunk: number) => {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + chunk));
      at += chunk;
    },
  });
};
const headers = { 'content-type': 'application/json', 'content-length': '1', etag: 'x' };
const decode = (body: ReadableStream<Uint8Array> | Uint8Array | null, index: number) =>
  decodeBase64Content({ status: 200, headers, body }, { index, mimeType: 'video/mp4' });

test.each([1, 3, 77, 16_384, 1_000_000])(
  'finds each file in an answer that comes in pieces of %i bytes',
  async (size) => {
    for (const [index, bytes] of films.entries()) {
      const content = await decode(streamFor(answer, size), index);
      expect([content.status, content.headers]).toEqual([200, { 'content-type': 'video/mp4' }]);
      expect(Buffer.from(bytes).equals(await new Response(content.body as BodyInit).bytes())).toBe(true);
    }
  },
);

test('finds it in a whole answer, and gives nothing to a client that wants the headers alone', async () => {
  const content = await decode(new TextEncoder().encode(answer), 1);
  expect(Buffer.from(films[1] as Uint8Array).equals(content.body as Uint8Array)).toBe(true);
  expect(await decode(null, 0)).toEqual({ status: 200, headers: { 'content-type': 'video/mp4' }, body: null });
});

test('an answer without such a file says that the vendor no longer has it', async () => {
  const gone = expect.objectContaining({ code: 'tasks.artifact_gone' });
  await expect(decode(streamFor(answer, 500), 3)).rejects.toEqual(gone);
  await expect(decode(new TextEncoder().encode('{"error": "expired"}'), 0)).rejects.toEqual(gone);
  await expect(decode(streamFor('', 500), 0)).rejects.toEqual(gone);
});
