/** Answers of vendors as bytes: what could be read in two ways is refused, however it is cut. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type AnswerHead, createAnswerParser, InvalidAnswer } from '../../src/upstream/parse-answer.ts';

type Parsed = {
  head: AnswerHead | undefined;
  body: string;
  isComplete: boolean;
  /** Bytes followed that belong to no answer. */
  hasExcess: boolean;
  isInvalid: boolean;
};

/** Parses `bytes`, cut at these places; the vendor then closes the connection if `closes`. */
type Connection = { method?: string; closes?: boolean };

function parse(
  bytes: Buffer,
  cuts: readonly number[] = [],
  { method = 'GET', closes = false }: Connection = {},
): Parsed {
  const parsed: Parsed = { head: undefined, body: '', isComplete: false, hasExcess: false, isInvalid: false };
  const body: Uint8Array[] = [];
  const parser = createAnswerParser({
    onHead: (head) => {
      expect(parsed.head).toBeUndefined();
      parsed.head = head;
    },
    onBody: (piece) => {
      expect(piece.length).toBeGreaterThan(0);
      expect(parsed.isComplete).toBe(false);
      body.push(Buffer.from(piece));
    },
    onEnd: () => {
      expect(parsed.isComplete).toBe(false);
      parsed.isComplete = true;
    },
  });
  parser.begin(method);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  try {
    for (const [index, from] of [0, ...places].entries()) {
      const piece = bytes.subarray(from, places[index] ?? bytes.length);
      if (!parser.read(piece)) parsed.hasExcess = true;
    }
    if (closes) parser.end();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidAnswer);
    parsed.isInvalid = true;
  }
  expect(parser.isComplete() || parsed.isInvalid).toBe(parsed.isComplete || parsed.isInvalid);
  parsed.body = Buffer.concat(body).toString('latin1');
  return parsed;
}

const bytesFor = (text: string): Buffer => Buffer.from(text, 'latin1');
const OK = 'HTTP/1.1 200 OK\r\n';

const cuts = fc.array(fc.nat(4096), { maxLength: 12 });
const payload = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const fieldName = fc.stringMatching(/^x-[a-zA-Z0-9!#$%&'*+.^_`|~-]{1,12}$/);
const fieldValue = fc.stringMatching(
  /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]{0,20}[\x21-\x7e\x80-\xff])?)?$/,
);
const fields = fc.array(fc.tuple(fieldName, fc.constantFrom('', ' ', '\t  '), fieldValue), { maxLength: 5 });
const extension = fc.constantFrom('', ';a', ';a=b', '; name="value"');
const chunks = fc.array(fc.tuple(payload, extension, fc.boolean()), { maxLength: 4 });

const lines = (list: [string, string, string][]): string =>
  list.map(([name, blank, value]) => `${name}:${blank}${value}${blank}\r\n`).join('');

describe('every valid answer is read, however it is cut', () => {
  const status = fc.constantFrom(200, 201, 301, 404, 429, 500, 599);
  const interim = fc.constantFrom('', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n');

  test('with a length', () => {
    fc.assert(
      fc.property(fc.record({ interim, status, fields, payload }), cuts, (given, places) => {
        const { interim: first, status: code, fields: list, payload: body } = given;
        const text = `${first}HTTP/1.1 ${code} Any reason\r\n${lines(list)}Content-Length: ${body.length}\r\n\r\n${body}`;
        const parsed = parse(bytesFor(text), places);
        expect(parsed).toMatchObject({ body, isComplete: true, hasExcess: false, isInvalid: false });
        expect(parsed.head?.status).toBe(code);
        for (const [name, , value] of list) expect(parsed.head?.headers[name.toLowerCase()]).toContain(value);
        expect(parse(bytesFor(text).subarray(0, -1), places).isComplete).toBe(false);
        expect(parse(bytesFor(`${text}H`), places)).toMatchObject({ body, isComplete: true, hasExcess: true });
      }),
    );
  });

  test('in chunks, with extensions and trailers', () => {
    fc.assert(
      fc.property(chunks, fields, cuts, (list, trailers, places) => {
        const sent = list.filter(([part]) => part !== '');
        const written = sent.map(([part, more, isUpper]) => {
          const size = part.length.toString(16);
          return `${isUpper ? size.toUpperCase() : size}${more}\r\n${part}\r\n`;
        });
        const text = `${OK}Transfer-Encoding: chunked\r\n\r\n${written.join('')}0\r\n${lines(trailers)}\r\n`;
        const body = sent.map(([part]) => part).join('');
        expect(parse(bytesFor(text), places)).toMatchObject({ body, isComplete: true, hasExcess: false });
        expect(parse(bytesFor(text).subarray(0, -1), places, { closes: true }).isComplete).toBe(false);
        expect(parse(bytesFor(`${text}0`), places)).toMatchObject({ body, isComplete: true, hasExcess: true });
      }),
    );
  });

  test('until the end of the connection', () => {
    fc.assert(
      fc.property(payload, cuts, (body, places) => {
        const bytes = bytesFor(`${OK}\r\n${body}`);
        expect(parse(bytes, places)).toMatchObject({ body, isComplete: false });
        expect(parse(bytes, places, { closes: true })).toMatchObject({ body, isComplete: true });
      }),
    );
  });

  test('any bytes at all: read to the same end however they are cut, and never an error of ours', () => {
    const word = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      '\r',
      '\n',
      ':',
      'Content-Length: 3',
      'abc',
      ' ',
      '0',
      '\0',
    );
    const starts = fc.constantFrom('', OK, `${OK}Transfer-Encoding: chunked\r\n\r\n`);
    const noise = fc.oneof(
      payload,
      fc.array(word, { maxLength: 20 }).map((words) => words.join('')),
    );
    fc.assert(
      fc.property(starts, noise, cuts, (start, rest, places) => {
        const bytes = bytesFor(start + rest);
        expect(parse(bytes, places)).toEqual(parse(bytes));
      }),
    );
  });
});

describe('request smuggling and response splitting: what could be read in two ways is refused', () => {
  const heads = {
    'a length and chunks': 'Content-Length: 3\r\nTransfer-Encoding: chunked',
    'two lengths': 'Content-Length: 3\r\nContent-Length: 4',
    'the same length twice': 'Content-Length: 3\r\nContent-Length: 3',
    'a list of lengths': 'Content-Length: 3, 3',
    'a signed length': 'Content-Length: +3',
    'a negative length': 'Content-Length: -1',
    'a hexadecimal length': 'Content-Length: 0x3',
    'a length beyond exact numbers': 'Content-Length: 9007199254740993',
    'an empty length': 'Content-Length:',
    'a length with a vertical tab': 'Content-Length: \x0b3',
    'chunks twice': 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked',
    'chunks that are not the last coding': 'Transfer-Encoding: chunked, gzip',
    'another coding before the chunks': 'Transfer-Encoding: gzip, chunked',
    'a coding that only looks like chunks': 'Transfer-Encoding: xchunked',
    'a blank before the colon': 'Content-Length : 3',
    'a continued line': 'X-A: b\r\n Content-Length: 3',
    'a line without a colon': 'Content-Length',
    'an empty name': ': 3',
    'a bare line feed': 'X-A: b\nContent-Length: 3',
    'a bare carriage return': 'X-A: b\rContent-Length: 3',
    'a NUL': 'X-A: \0',
    'a delete character': 'X-A: \x7f',
    'a name that is not a token': 'X(A): b',
  };
  for (const [name, head] of Object.entries(heads)) {
    test(name, () => {
      expect(parse(bytesFor(`${OK}${head}\r\n\r\nabc`)).isInvalid).toBe(true);
    });
  }

  for (const line of [
    'HTTP/1.1 200 OK\n',
    ' HTTP/1.1 200 OK\r\n',
    '\r\nHTTP/1.1 200 OK\r\n',
    'http/1.1 200 OK\r\n',
    'HTTP/2 200\r\n',
    'HTTP/1.2 200 OK\r\n',
    'HTTP/1.1  200 OK\r\n',
    'HTTP/1.1 20 OK\r\n',
    'HTTP/1.1 2000 OK\r\n',
    'HTTP/1.1 099 OK\r\n',
    'HTTP/1.1 200 a\0b\r\n',
    'HTTP/1.1 101 Switching Protocols\r\n',
    'ICY 200 OK\r\n',
  ]) {
    test(`the status line ${JSON.stringify(line)}`, () => {
      const parsed = parse(bytesFor(`${line}Content-Length: 0\r\n\r\n`), [], { closes: true });
      expect(parsed.head).toBeUndefined();
      expect(parsed.isComplete).toBe(false);
    });
  }

  test('chunks in HTTP/1.0', () => {
    expect(parse(bytesFor('HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n')).isInvalid).toBe(true);
  });

  for (const body of [
    ' 3\r\nabc\r\n0\r\n\r\n',
    '3 \r\nabc\r\n0\r\n\r\n',
    '+3\r\nabc\r\n0\r\n\r\n',
    '-3\r\nabc\r\n0\r\n\r\n',
    '0x3\r\nabc\r\n0\r\n\r\n',
    '\r\n3\r\nabc\r\n0\r\n\r\n',
    '3\nabc\r\n0\r\n\r\n',
    '3\r\nabcd\r\n0\r\n\r\n',
    '3\r\nabc0\r\n\r\n',
    '3\r\nabc\n0\r\n\r\n',
    '3;a\nb\r\nabc\r\n0\r\n\r\n',
    '3;a\rb\r\nabc\r\n0\r\n\r\n',
    '3;\0\r\nabc\r\n0\r\n\r\n',
    '10000000000000\r\n',
    '3\r\nabc\r\n0\r\nX : 1\r\n\r\n',
    '3\r\nabc\r\n0\r\n X: 1\r\n\r\n',
  ]) {
    test(`the chunks ${JSON.stringify(body)}`, () => {
      expect(parse(bytesFor(`${OK}Transfer-Encoding: chunked\r\n\r\n${body}`)).isInvalid).toBe(true);
    });
  }
});

describe('memory exhaustion', () => {
  const endless = {
    'a header without end': `${OK}X-A: ${'a'.repeat(70_000)}`,
    'headers without end': OK + 'X-A: b\r\n'.repeat(10_000),
    'interim answers without end': `HTTP/1.1 103 Early Hints\r\nX-A: ${'a'.repeat(100)}\r\n\r\n`.repeat(1_000),
    'a chunk extension without end': `${OK}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}`,
    'chunk extensions without end': `${OK}Transfer-Encoding: chunked\r\n\r\n${`1;${'a'.repeat(100)}\r\nx\r\n`.repeat(200)}`,
    'trailers without end': `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n${'X-A: b\r\n'.repeat(10_000)}`,
  };
  for (const [name, text] of Object.entries(endless)) {
    test(name, () => {
      expect(parse(bytesFor(text)).isInvalid).toBe(true);
      expect(
        parse(
          bytesFor(text),
          Array.from({ length: 500 }, (_, index) => index * 137),
        ).isInvalid,
      ).toBe(true);
    });
  }
});

describe('bodies', () => {
  test('HEAD, 204 and 304 have none, whatever they announce', () => {
    const head = `${OK}Content-Length: 5000\r\n\r\n`;
    expect(parse(bytesFor(head), [], { method: 'HEAD' })).toMatchObject({ isComplete: true, body: '' });
    for (const status of ['204 No Content', '304 Not Modified'])
      expect(parse(bytesFor(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`)).isComplete).toBe(true);
  });

  test('how long the vendor keeps the connection', () => {
    const keptFor = (head: string) => parse(bytesFor(`${head}\r\n\r\n`)).head?.keepForMs;
    expect(keptFor('HTTP/1.1 204 No Content')).toBe(Number.POSITIVE_INFINITY);
    expect(keptFor('HTTP/1.1 204 No Content\r\nConnection: Foo, Close')).toBe(0);
    expect(keptFor('HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5, max=100')).toBe(4000);
    expect(keptFor('HTTP/1.1 204 No Content\r\nKeep-Alive: max=5, timeout=1')).toBe(0);
    expect(keptFor('HTTP/1.0 204 No Content\r\nConnection: keep-alive')).toBe(0);
    expect(keptFor('HTTP/1.1 200 OK')).toBe(0);
  });
});

test('slowloris: single bytes cost as much each as many at once', () => {
  const cost = (size: number): number => {
    const bytes = bytesFor(`${OK}X-A: ${'a'.repeat(size)}\r\nContent-Length: 0\r\n\r\n`);
    const everywhere = Array.from({ length: bytes.length }, (_, index) => index);
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage();
      expect(parse(bytes, everywhere).isComplete).toBe(true);
      return process.cpuUsage(before).user;
    });
    return Math.min(...times);
  };
  cost(1_000);
  // Quadratic would be 256 times.
  // Below a millisecond the clock of the processor is too coarse.
  expect(cost(60_000) / Math.max(1_000, cost(3_750))).toBeLessThan(120);
});
