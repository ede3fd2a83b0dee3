import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readEvents } from '../../src/relay/answers/read-events.ts';
import { createVendorIdFinder } from '../../src/relay/objects/vendor-ids.ts';
import { removeUsageEvent } from '../../src/relay/usage/ask-for-usage.ts';
import { rounds } from '../support/full-run.ts';

const RUNS = { seed: 20_261_128, numRuns: rounds(500) };
const SIZES = [1, 2, 3, 7, 1000];

function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** The data of the events, and the bytes between the ends that the reader tells. */
function read(stream: string, sizes: readonly number[]): { events: string[]; raw: string } {
  const events: string[] = [];
  let data: string | undefined;
  const consumer = {
    data: (bytes: Uint8Array) => {
      data = (data ?? '') + Buffer.from(bytes).toString('latin1');
    },
    nextLine: () => {
      data = `${data ?? ''}\n`;
    },
    endEvent: () => {
      if (data) events.push(Buffer.from(data, 'latin1').toString('utf8'));
      data = undefined;
    },
  };
  const reader = readEvents([consumer]);
  let raw = '';
  for (const chunk of cut(Buffer.from(stream), sizes)) {
    let at = 0;
    for (const end of reader.push(chunk)) {
      expect(end).toBeGreaterThan(at - 1);
      raw += Buffer.from(chunk.subarray(at, end)).toString('latin1');
      at = end;
    }
    raw += Buffer.from(chunk.subarray(at)).toString('latin1');
  }
  reader.end();
  return { events, raw: Buffer.from(raw, 'latin1').toString('utf8') };
}

/** The same as the standard says it, for a whole text. */
function parse(stream: string): string[] {
  const lines = stream.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const events: string[] = [];
  let data: string[] = [];
  for (const line of [...lines, '']) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/su.exec(line) ?? [];
    if (line === '') {
      if (data.join('\n') !== '') events.push(data.join('\n'));
      data = [];
    } else if (name === 'data') data.push(value);
  }
  return events;
}

describe('server-sent events', () => {
  test('are read as the standard says, in whatever chunks they come', () => {
    const line = fc.constantFrom(
      ...['data: a', 'data:b', 'data:  c', 'data', 'data:', 'data : no', 'datax: no', 'dat', ': data: no', 'event: x'],
      ...['', '', '', 'data: ü😀', '\uFEFFdata: d', 'id: 7', 'data: {"x": 1}', ' data: no', 'Data: no', ':'],
    );
    const ends = fc.constantFrom('\n', '\r', '\r\n');
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(line, ends), { maxLength: 12 }), fc.boolean(), sizes, (lines, hasBom, chunks) => {
        const stream = (hasBom ? '\uFEFF' : '') + lines.map((pair) => pair.join('')).join('');
        expect(read(stream, chunks)).toEqual({ events: parse(stream), raw: stream });
      }),
      RUNS,
    );
  });

  test('count without their last line end, or only with its half', () => {
    for (const end of ['', '\n', '\r', '\r\n', '\n\r'])
      for (const size of SIZES) expect(read(`data: 1\n\ndata: 2${end}`, [size]).events).toEqual(['1', '2']);
  });

  test('denial of service: a line without an end costs no memory', () => {
    let longest = 0;
    const reader = readEvents([
      {
        data: (bytes) => {
          longest = Math.max(longest, bytes.length);
        },
        nextLine: () => {},
        endEvent: () => {},
      },
    ]);
    const chunk = new Uint8Array(1024).fill(0x61);
    reader.push(Buffer.from('data:'));
    for (let i = 0; i < 1000; i += 1) reader.push(chunk);
    expect(longest).toBe(1024);
  });
});

describe('the event that only reports usage', () => {
  const usage = 'data: {"choices":[],"usage":{"total_tokens":3}}';
  const rows: [name: string, stream: string, passed: string][] = [
    ['between others', `data: {"a":1}\n\n${usage}\n\ndata: [DONE]\n\n`, 'data: {"a":1}\n\ndata: [DONE]\n\n'],
    ['with CRLF', `data: 1\r\n\r\n${usage}\r\n\r\ndata: 2\r\n\r\n`, 'data: 1\r\n\r\ndata: 2\r\n\r\n'],
    ['with CR', `data: 1\r\r${usage}\r\rdata: 2\r\r`, 'data: 1\r\rdata: 2\r\r'],
    ['at the end, without an empty line', `data: 1\n\n${usage}`, 'data: 1\n\n'],
    ['over several lines', 'data: {"choices":\ndata: [],\ndata: "usage":{}}\n\ndata: 1\n\n', 'data: 1\n\n'],
    ['with a comment and a name', `: ping\nevent: message\n${usage}\n\ndata: 1\n\n`, 'data: 1\n\n'],
    ['after a BOM', `\uFEFF${usage}\n\ndata: 1\n\n`, 'data: 1\n\n'],
    ['whose choices are null', 'data: {"choices":null,"usage":{}}\n\ndata: 1\n\n', 'data: 1\n\n'],
    ['without choices', 'data: {"usage":{"prompt_tokens":1}}\n\ndata: 1\n\n', 'data: 1\n\n'],
    ['with choices', 'data: {"choices":[{}],"usage":{}}\n\n', 'data: {"choices":[{}],"usage":{}}\n\n'],
    ['with an error', 'data: {"error":{},"usage":{}}\n\n', 'data: {"error":{},"usage":{}}\n\n'],
    ['that is null', 'data: {"choices":[],"usage":null}\n\n', 'data: {"choices":[],"usage":null}\n\n'],
    ['as a word', 'data: {"choices":["usage"]}\n\ndata: "usage', 'data: {"choices":["usage"]}\n\ndata: "usage'],
    ['in a comment', `: ${usage}\n\ndata: 1`, `: ${usage}\n\ndata: 1`],
  ];
  /** The sizes of the pieces that the client gets. */
  const readFilter = () => {
    const filter = removeUsageEvent();
    const events = readEvents([filter.events]);
    return {
      push: (chunk: Uint8Array) => filter.push(chunk, events.push(chunk)),
      end() {
        events.end();
        return filter.end();
      },
    };
  };
  for (const [name, stream, passed] of rows) {
    test(`is taken out only where it is: ${name}`, () => {
      for (const size of SIZES) {
        const filter = readFilter();
        const out = [...cut(Buffer.from(stream), [size])].map(filter.push);
        expect(Buffer.concat([...out, filter.end()]).toString()).toBe(passed);
      }
    });
  }

  test('is taken out the same way in whatever chunks the stream comes', () => {
    const line = fc.constantFrom(
      usage,
      'data: 1',
      ': ping',
      'retry: 1',
      '',
      '',
      'data: {"usage":{},',
      'data: "choices":[]}',
    );
    const ends = fc.constantFrom('\n', '\r', '\r\n');
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
    const pass = (stream: Uint8Array, chunks: readonly number[]) => {
      const filter = readFilter();
      const out = [...cut(stream, chunks)].map(filter.push);
      return Buffer.concat([...out, filter.end()]).toString();
    };
    fc.assert(
      fc.property(fc.array(fc.tuple(line, ends), { maxLength: 12 }), sizes, (lines, chunks) => {
        const stream = Buffer.from(lines.map((pair) => pair.join('')).join(''));
        expect(pass(stream, chunks)).toBe(pass(stream, [1e9]));
      }),
      RUNS,
    );
  });

  test('denial of service: an event without an end is not kept', () => {
    const filter = readFilter();
    const chunk = Buffer.from('data: "usage" '.repeat(5000));
    expect(filter.push(chunk)).toHaveLength(chunk.length);
    expect(filter.push(Buffer.from('x'))).toHaveLength(1);
    expect(filter.push(Buffer.from('\n\ndata: 1'))).toHaveLength(2);
  });
});

describe('the ids in a stream', () => {
  for (const size of [1, 1000]) {
    test(`are found with all line ends, in chunks of ${size}`, () => {
      for (const end of ['\n', '\r', '\r\n']) {
        const lines = [
          'event: response.created',
          'data: {"no',
          'data:[1]',
          'data: {"response":{"id":"resp_ü1"}}',
          '',
          'data: {"type":"response.output_item.added","item":{"id":"ci_1","container_id":"cntr_1"}}',
          'data: {"delta":"\\"id\\": 1","item_id":"ci_1"}',
          'data: {"response":',
          'data:   {"id":"resp_ü1",',
          'data: "output":[{"id":"ci_1"},{"id":"msg_2"}]}}',
        ];
        const find = createVendorIdFinder('response');
        const reader = readEvents([find.events]);
        for (const chunk of cut(new TextEncoder().encode(lines.join(end)), [size])) reader.push(chunk);
        reader.end();
        expect(find.take().map(({ kind, objectId }) => `${kind} ${objectId}`)).toEqual([
          'response resp_ü1',
          'item ci_1',
          'container cntr_1',
          'item msg_2',
        ]);
        expect(find.take()).toEqual([]);
      }
    });
  }
});
