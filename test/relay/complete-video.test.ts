/** What a vendor's video object lacks is written into it, and nothing else of it changes. */
import { expect, test } from 'bun:test';
import { completeVideo, type KnownVideo } from '../../src/relay/objects/complete-video.ts';

const known = {
  asked: { model: 'vid-x', seconds: '4', size: '1280x720', remixed_from_video_id: 'video_0' },
  createdAt: 100,
};
const complete = (answer: string, more: Partial<KnownVideo> = {}): string =>
  new TextDecoder().decode(completeVideo(new TextEncoder().encode(answer), { ...known, ...more }));

const OPEN = { completed_at: null, expires_at: null, error: null };
const WHOLE =
  '{"id":"v","object":"video","model":"m","status":"queued","progress":3,"created_at":1,"completed_at":null,"expires_at":null,"seconds":"8","size":"1x1","remixed_from_video_id":null,"error":null}';

test('what is missing comes from the request', () => {
  expect(JSON.parse(complete('{"id":"v","status":"completed","url":"https://cdn.example/v.mp4"}'))).toEqual({
    ...{ id: 'v', status: 'completed', url: 'https://cdn.example/v.mp4', ...OPEN },
    ...{ object: 'video', model: 'vid-x', created_at: 100, progress: 100 },
    ...{ seconds: '4', size: '1280x720', remixed_from_video_id: 'video_0' },
  });
});

test('price and links are the gateway’s own, and a link belongs to a video that is there', () => {
  const own = { link: 'https://gate.example/v', cost: { usd: 1 } };
  const said = '"url":"https://cdn.example/v.mp4","content_url":"https://cdn.example/w","cost":{"usd":0.1}';
  const links = { content_url: own.link, url: own.link };
  expect(JSON.parse(complete(`{"id":"v","status":"completed",${said}}`, own))).toMatchObject({
    ...links,
    cost: own.cost,
  });
  const running = JSON.parse(complete('{"id":"v","status":"in_progress"}', own)) as object;
  expect(running).toMatchObject({ cost: own.cost });
  expect(running).not.toHaveProperty('url');
});

test('what nobody said is there all the same', () => {
  const none = { seconds: '0', size: '0x0', remixed_from_video_id: null };
  expect(JSON.parse(complete('{"id":7,"status":"queued"}', { asked: undefined }))).toMatchObject({ ...none, ...OPEN });
});

test('null is not a length, size or progress, and says that there is no error', () => {
  const made = complete('{"id":"v","seconds":null,"size":null,"progress":null,"error":null,"completed_at":null}');
  expect(JSON.parse(made)).toMatchObject({ seconds: '4', size: '1280x720', progress: 0, error: null });
});

test('what the vendor said stays as it wrote it', () => {
  const said = '{ "id" : 12345678901234567890, "seconds": 8.50, "error": {"code":"é"}, "x": 1e2 ';
  expect(complete(`${said}}`)).toStartWith(said);
  expect(complete(WHOLE)).toBe(WHOLE);
});

test.each([
  ['no object', '[{"id":"v"}]'],
  ['an object of another kind', '{"id":"v","object":"video.deleted","deleted":true}'],
  ['an answer without an id', '{"status":"queued"}'],
  ['no JSON', '{"id":"v",'],
  ['more than is read', `{"id":"v","prompt":"${'a'.repeat(300_000)}"}`],
  ['too many values', `{"id":"v","list":[${'1,'.repeat(20_000)}1]}`],
  ['too many levels', `{"id":"v","list":${'['.repeat(100)}${']'.repeat(100)}}`],
])('%s is passed on as it is', (_, answer) => {
  expect(complete(answer)).toBe(answer);
});

test('bytes that are not UTF-8 are passed on as they are', () => {
  const answer = Buffer.from([...Buffer.from('{"id":"v","prompt":"'), 0xff, ...Buffer.from('"}')]);
  expect(completeVideo(answer, known)).toBe(answer);
});
