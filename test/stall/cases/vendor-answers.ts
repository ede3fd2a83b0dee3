import { ok } from '../../../src/kernel/index.ts';
import { createVendorIdFinder, findVendorIds } from '../../../src/tasks/relay/vendor-ids.ts';
import { readVendorAnswer } from '../../../src/tasks/vendor/read-vendor-answer.ts';
import type { UpstreamResponse } from '../../../src/upstream/index.ts';
import { fill, stallCase } from '../measure-block.ts';

const MIB = 1024 * 1024;

const texts = (size: number): Record<string, Buffer> =>
  Object.fromEntries(
    Object.entries({
      'empty objects': fill('{},', size, '{"x":[', '{}]}'),
      'empty strings': fill('"",', size, '[', '""]'),
      brackets: fill('[', size),
      'escaped quotes': fill('\\"', size, '["'),
      backslashes: fill('\\', size, '["', '\\'),
      'short runs of Base64': fill('a ', size, '["', '"]'),
      'one long run of Base64': fill('a', size, '{"image":"', '"}'),
      'escaped slashes': fill('\\/', size, '["', '"]'),
      'escaped letters': fill('\\u0041', size, '["', '"]'),
      'escaped accents': fill('\\u00e9', size, '["', '"]'),
      'many names': fill('"id":"a",', size, '{', '"id":"b"}'),
      'many lines': fill('data:{"id":"a"}\n', size),
      'line ends': fill('\r', size, 'data:{'),
    }).map(([name, text]) => [name, Buffer.from(text)]),
  );

const answered = (bytes: Buffer) => ({ bytes: async () => ok(bytes) }) as unknown as UpstreamResponse;
const CHUNK = 256 * 1024;

export const vendorAnswerCases = [
  stallCase({
    name: 'answer of a vendor for a hook',
    limit: 16 * MIB,
    worst: texts,
    call: (bytes: Buffer) => readVendorAnswer(answered(bytes), { tasks: 100 }),
    limitedBy: 'the bytes that are read of an answer',
  }),
  stallCase({
    name: 'answer of a vendor for a hook, as large as one may be',
    limit: 2 * MIB,
    worst: texts,
    call: (bytes: Buffer) => readVendorAnswer(answered(bytes), { tasks: 100 }),
    limitedBy: 'the bytes of JSON that a hook sees',
  }),
  stallCase({
    name: 'relayed answer that was read whole',
    limit: 4 * MIB,
    worst: texts,
    call: (bytes: Buffer) => findVendorIds('response', bytes),
    limitedBy: 'the slices in which it is read, whatever its size',
  }),
  stallCase({
    name: 'chunk of a relayed stream',
    limit: CHUNK,
    worst: texts,
    call: (bytes: Buffer) => createVendorIdFinder('response')(bytes),
    limitedBy: 'the bytes that a socket gives at once',
  }),
];
