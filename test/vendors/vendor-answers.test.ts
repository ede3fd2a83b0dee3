import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ok } from '../../src/kernel/index.ts';
import type { UpstreamResponse } from '../../src/upstream/index.ts';
import { BASE64_FROM, BASE64_KEEP, createBase64Cutter } from '../../src/vendors/answer/cut-base64.ts';
import { readVendorAnswer } from '../../src/vendors/answer/read-vendor-answer.ts';
import { rounds } from '../support/full-run.ts';

const MIB = 1024 * 1024;
const MEDIA = 'QUJD'.repeat(MIB);

const read = (text: string, tasks = 1, type?: string) => {
  const headers = type === undefined ? {} : { 'content-type': [type] };
  const response = { status: 200, headers, bytes: async () => ok(Buffer.from(text)) };
  return readVendorAnswer(response as unknown as UpstreamResponse, { tasks, media: true });
};

describe('a vendor answer', () => {
  test.each([
    ['more than 100,000 values', `[${'0,'.repeat(99_999)}0]`, 'more than 100,000 values'],
    ['8 MB of empty objects', `{"x":[${'{},'.repeat(2_600_000)}{}]}`, 'more than 2 MiB'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`, 'more than 64 levels'],
    ['a million levels behind a byte-order mark', `\uFEFF ${'['.repeat(MIB)}`, 'more than 64 levels'],
    ['text of more than 2 MiB', 'a '.repeat(1.5 * MIB), 'more than 2 MiB'],
  ])('of %s is refused before it is parsed', async (_what, text, said) => {
    const answer = await read(text);
    expect(answer.ok ? '' : answer.error.message).toContain(said);
  });

  test('has ids that a number would round as texts of their digits', async () => {
    const answer = await read('{"data":{"task_id":7615917337495251231,"n":1},"requestId":9007199254740993}');
    const body = { data: { task_id: '7615917337495251231', n: 1 }, requestId: '9007199254740993' };
    expect(answer.ok && answer.value.body).toEqual(body);
  });

  test('may have a mebibyte of embeddings', async () => {
    const text = `[${'-0.01234567,'.repeat(87_000)}0]`;
    expect([text.length > 0.99 * MIB, (await read(text)).ok]).toEqual([true, true]);
  });

  test('to a batch may have 4 MiB', async () => {
    const text = JSON.stringify(Array(6).fill('a b '.repeat(MIB / 8)));
    expect((await read(text)).ok).toBe(false);
    expect((await read(text, 2)).ok).toBe(true);
  });

  test('that is large because of media keeps its data: Base64 is cut to its first characters', async () => {
    const answer = await read(JSON.stringify({ id: 'job-1', image: `data:image/png;base64,${MEDIA}`, raw: MEDIA }));
    expect(answer.ok && answer.value.body).toEqual({
      id: 'job-1',
      image: `data:image/png;base64,${MEDIA.slice(0, BASE64_KEEP)}`,
      raw: MEDIA.slice(0, BASE64_KEEP),
    });
  });

  test('of at most 1 MiB reaches the hook unchanged', async () => {
    const body = { image: MEDIA.slice(0, MIB - 100), path: 'a/b\n' };
    const answer = await read(JSON.stringify(body));
    expect(answer.ok && answer.value.body).toEqual(body);
  });

  test.each([
    ['audio/mpeg', 765 * 1024, 'QUJD'],
    ['audio/mpeg', 765 * 1024 + 1, undefined],
    ['video/mp4', 3 * MIB, undefined],
    ['image/png; charset=x', 3, 'QUJD'],
  ])('of media (%s, %d bytes) has its bytes while they are few', async (type, size, start) => {
    const answer = await read('ABC'.repeat(size).slice(0, size), 1, type);
    expect(answer.ok && [answer.value.text, answer.value.body]).toEqual(['', '']);
    expect(answer.ok ? answer.value.base64?.slice(0, 4) : 'refused').toBe(start);
  });

  test('that is null is null, not its text', async () => {
    const answer = await read(' null\n');
    expect(answer.ok && answer.value.body).toBeNull();
  });

  test.each(['<html>', '[1,', ''])('that is not JSON (%j) is read as text', async (text) => {
    expect(await read(text)).toEqual(ok({ status: 200, headers: {}, text, body: text }));
  });
});

test('cutting Base64 changes nothing else, for all chunk sizes', () => {
  const short = fc.string({ unit: fc.constantFrom('"', '\\', 'n', '/', 'é', ' ', 'Q', ':'), maxLength: 40 });
  const long = fc.integer({ min: BASE64_FROM - 2, max: BASE64_FROM + 600 }).map((length) => 'Q'.repeat(length));
  const value = fc.array(fc.oneof({ weight: 3, arbitrary: short }, long), { maxLength: 5 });
  const sizes = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(value, sizes, (parts, chunks) => {
      const bytes = Buffer.from(JSON.stringify(parts).replaceAll('Q', '\\u0051').replaceAll(':', '\\u003a'));
      const cutter = createBase64Cutter();
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = chunks[turn % chunks.length] ?? 1;
        cutter.take(bytes.subarray(at, at + size));
        at += size;
      }
      const left = JSON.parse(Buffer.from(cutter.end()).toString()) as string[];
      const expected = parts.map((part) => (part.length >= BASE64_FROM ? 'Q'.repeat(BASE64_KEEP) : part));
      expect(left).toEqual(expected);
    }),
    { seed: 20_261_122, numRuns: rounds(100) },
  );
});
