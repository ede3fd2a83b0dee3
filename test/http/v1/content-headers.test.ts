import { describe, expect, test } from 'bun:test';
import { contentHeaders, contentResponse } from '../../../src/http/v1/send-content.ts';

const SAVED = ['application/octet-stream', 'attachment'];

function shown(type: string | undefined, use: 'link' | 'key' | 'api' = 'link', disposition?: string) {
  const headers = contentHeaders(
    {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(disposition === undefined ? {} : { 'content-disposition': disposition }),
    },
    use,
  );
  return [headers.get('content-type'), headers.get('content-disposition')];
}

describe('an artifact of a vendor runs nothing on our origin', () => {
  test.each([
    ['video/mp4', 'video/mp4'],
    ['VIDEO/MP4', 'video/mp4'],
    [' image/png ', 'image/png'],
    ['audio/L16;rate=24000', 'audio/l16; rate=24000'],
    ['audio/ogg; codecs="opus"', 'audio/ogg'],
  ])('%p is shown in place', (type, sent) => {
    for (const use of ['link', 'key'] as const) expect(shown(type, use)).toEqual([sent, null]);
  });

  test.each([
    'text/html',
    'TEXT/HTML; charset=utf-8',
    'image/svg+xml',
    'Image/SVG+XML; charset=utf-8',
    'image/svg',
    'image/vnd.example+xml',
    'application/pdf',
    'application/xhtml+xml',
    'application/javascript',
    'multipart/x-mixed-replace; boundary=x',
    'multipart/byteranges; boundary=x',
    'Multipart/ByteRanges;boundary="x"',
    'multipart/mixed; boundary=x',
    'multipart/related; boundary=x',
    'message/http',
    'message/rfc822',
    'application/xml',
    'text/xml',
    'text/css',
    'text/plain',
    'video/mp4;',
    'image/png, image/svg+xml',
    // Readers disagree on which part of these is the media type.
    'video/mp4, text/html',
    'video/mp4; charset=utf-8, text/html',
    'video/mp4;x=", text/html;"',
    'text/html; video/mp4',
    'video/mp4; text/html',
    'video /mp4',
    'video/\tmp4 x',
    'video',
    '/mp4',
    '',
    `video/mp4; a=${'b'.repeat(300)}`,
    undefined,
  ])('%p is saved as a file', (type) => {
    for (const use of ['link', 'key'] as const) expect(shown(type, use)).toEqual(SAVED);
  });

  test('a downloaded file keeps a plain name, and the vendor cannot make it inline', () => {
    expect(shown('text/html', 'link', 'inline; filename="a b.html"')[1]).toBe('attachment; filename="a b.html"');
    expect(shown('text/html', 'link', 'inline; filename=../../x')[1]).toBe('attachment');
    expect(shown('text/html', 'link', 'inline')[1]).toBe('attachment');
  });

  test('the response of a relayed call is JSON, events or text; anything else is downloaded', () => {
    expect(shown('application/json; charset=utf-8', 'api')).toEqual(['application/json; charset=utf-8', null]);
    expect(shown('text/event-stream', 'api')).toEqual(['text/event-stream', null]);
    expect(shown('text/html', 'api')).toEqual(SAVED);
    expect(shown('application/json, text/html', 'api')).toEqual(SAVED);
  });

  test('several ranges are a download too, of the type that the gateway itself has given them', () => {
    const parts = { 'content-type': 'multipart/byteranges; boundary=x' };
    for (const use of ['link', 'key'] as const) {
      const own = contentResponse({ status: 206, headers: parts, body: null, isParts: true }, use).headers;
      expect([own.get('content-type'), own.get('content-disposition')]).toEqual([parts['content-type'], 'attachment']);
    }
    expect(shown(parts['content-type'], 'api')).toEqual(SAVED);
  });

  test('every response has the sandbox headers; pages of other sites may embed a link', () => {
    for (const [use, policy] of [
      ['link', 'cross-origin'],
      ['key', 'same-site'],
      ['api', 'same-site'],
    ] as const) {
      const sent = contentResponse({ status: 200, headers: { 'content-type': 'text/html' }, body: null }, use).headers;
      expect(Object.fromEntries(sent)).toMatchObject({
        'content-security-policy': "sandbox; default-src 'none'",
        'cross-origin-resource-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'private, no-store',
      });
    }
  });
});
