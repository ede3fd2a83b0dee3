/** Password guessing at a running gateway without TRUSTED_PROXIES. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
beforeAll(async () => {
  panel = await openPanel({ TRUSTED_PROXIES: '' });
});
afterAll(() => panel.gateway.stop());

test('60 guesses with 60 forged addresses are limited like those of one address', async () => {
  const guess = (chain: string) =>
    panel.send('/api/user/login', {
      body: { username: 'root', password: 'not the password' },
      headers: { 'x-forwarded-for': chain },
    });
  const statuses: number[] = [];
  for (let i = 1; i <= 60; i += 1) statuses.push((await guess(`203.0.113.${i}, 192.168.1.5`)).status);
  expect(statuses).toEqual([...Array(5).fill(401), ...Array(55).fill(429)]);
  // Other users are not slowed down.
  expect((await guess('203.0.113.1, 192.168.1.6')).status).toBe(401);
});

test('a signed-in browser can sign in again from a limited address', async () => {
  const { cookie } = await panel.logIn('root');
  const logIn = (password: string, headers: Record<string, string> = {}) =>
    panel.send('/api/user/auth/login', {
      body: { username: 'root', password },
      headers: { 'x-forwarded-for': '192.168.1.7', ...headers },
    });
  for (let i = 0; i < 5; i += 1) await logIn('not the password');
  expect((await logIn(panel.password)).status).toBe(429);
  expect((await logIn(panel.password, { cookie })).status).toBe(200);
});

test('an API key for one address does not work with a forged address', async () => {
  const { token } = await panel.logIn('root');
  const body = { name: 'for one address', unlimited_quota: true, allow_ips: ['8.8.8.8'] };
  const { key } = (await panel.send('/api/token', { token, body })).json.data;
  const list = async (chain: string) =>
    (await panel.send('/api/usage/token', { token: key, headers: { 'x-forwarded-for': chain } })).status;
  expect(await list('8.8.8.8, 192.168.1.5')).toBe(403);
  expect(await list('192.168.1.5, 8.8.8.8')).toBe(200);
});

test('attention names an unlisted proxy only if it forwards requests of other machines', async () => {
  const { token } = await panel.logIn('root');
  const { json } = await panel.send('/api/attention', { token });
  expect(json.data.map(({ code }: { code: string }) => code)).not.toContain('proxy_not_listed');
});
