/** The cookie that ties a Telegram binding to its browser, with secure cookies. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { BOT, signWidget } from '../../support/telegram-widget.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
beforeAll(async () => {
  panel = await openPanel({ SESSION_COOKIE_SECURE: 'true' });
});
afterAll(() => panel?.gateway.stop());

test('bind CSRF: only the browser that began a binding, by its secure cookie, can finish it', async () => {
  const { token } = await panel.logIn('root');
  const options = { TelegramBotName: BOT.name, TelegramBotToken: BOT.token, TelegramOAuthEnabled: 'true' };
  const body = { options: Object.entries(options).map(([key, value]) => ({ key, value })) };
  const headers = await panel.prove(token);
  expect((await panel.send('/api/option', { method: 'PUT', token, headers, body })).status).toBe(200);

  const started = await panel.send('/api/oauth/telegram/bind/start', { method: 'POST', token });
  const { flow_token, callback_url } = started.json.data;
  const digest = createHash('sha256').update(flow_token).digest('base64url');
  const [set = '', ...others] = started.headers.getSetCookie();
  expect(others).toEqual([]);
  expect(set).toStartWith(`__Secure-svc_telegram_bind=${digest}; Max-Age=`);
  expect(set).toEndWith('; Path=/api/oauth/telegram/bind; HttpOnly; Secure; SameSite=Lax');
  expect(set).not.toContain(flow_token);

  const query = signWidget({ id: 7 }, Math.floor((performance.timeOrigin + performance.now()) / 1000));
  const comeBack = async (headers: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${panel.gateway.port}${callback_url}?${query}`, {
      redirect: 'manual',
      headers,
    });
    const { searchParams } = new URL(response.headers.get('location') ?? '', 'http://panel');
    return [response.status, searchParams.get('error_code'), response.headers.getSetCookie()];
  };
  const refused = [302, 'TELEGRAM_BIND_SESSION_INVALID', []];
  expect(await comeBack({})).toEqual(refused);
  // A page without HTTPS on the same host can set a cookie without the `__Secure-` prefix.
  expect(await comeBack({ cookie: `svc_telegram_bind=${digest}` })).toEqual(refused);
  expect(await comeBack({ cookie: `__Secure-svc_telegram_bind=${digest.slice(1)}` })).toEqual(refused);
  const cleared =
    '__Secure-svc_telegram_bind=; Max-Age=0; Path=/api/oauth/telegram/bind; HttpOnly; Secure; SameSite=Lax';
  const own = { cookie: `__Secure-svc_telegram_bind=${digest}`, 'sec-fetch-site': 'cross-site' };
  expect(await comeBack(own)).toEqual([302, null, [cleared]]);
});
