import { expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { call, openKit } from '../kit-harness.ts';

const TOKEN = 'a-token-that-nobody-may-read';

test.each([
  ['GET', `/v1/calls/7/${TOKEN}`],
  ['HEAD', `/v1/calls/7/${TOKEN}/`],
  ['PUT', `/v1/calls/7/${TOKEN}`],
  ['OPTIONS', `/v1/calls/7/${TOKEN}`],
  ['POST', `/api/bind/${TOKEN}`],
])('secrets in logs: %s %s leaves no token there', async (method, path) => {
  const app = openKit({
    routes: (kit) =>
      new Elysia({ normalize: false })
        .use(kit)
        .get('/v1/calls/:id/:token', () => 'ok', { public: true })
        .get('/api/bind/:flow_token', () => 'ok', { public: true }) as never,
  });
  await call(app, { method, path });
  const lines = JSON.stringify(app.lines);
  expect(lines).not.toContain(TOKEN);
  expect(lines).toMatch(/:(?:flow_)?token/);
});
