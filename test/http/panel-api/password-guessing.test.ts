/** Guessing at a running gateway whose TRUSTED_PROXIES is not set. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
beforeAll(async () => {
  panel = await openPanel({ TRUSTED_PROXIES: '' });
});
afterAll(() => panel.gateway.stop());

test('60 guesses with 60 forged addresses in front of one are held like those of one', async () => {
  const guess = (chain: string) =>
    panel.send('/api/user/login', {
      body: { username: 'root', password: 'not the password' },
      headers: { 'x-forwarded-for': chain },
    });
  const statuses: number[] = [];
  for (let i = 1; i <= 60; i += 1) statuses.push((await guess(`203.0.113.${i}, 192.168.1.5`)).status);
  expect(statuses).toEqual([...Array(5).fill(401), ...Array(55).fill(429)]);
  // Nobody else is held for it.
  expect((await guess('203.0.113.1, 192.168.1.6')).status).toBe(401);
});

test('a browser that is signed in signs in again from an address that is held', async () => {
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

test('an API key that one address may use is not opened by a forged one', async () => {
  const { token } = await panel.logIn('root');
  const body = { name: 'for one address', unlimited_quota: true, allow_ips: ['8.8.8.8'] };
  const { key } = (await panel.send('/api/token', { token, body })).json.data;
  const list = async (chain: string) =>
    (await panel.send('/api/usage/token', { token: key, headers: { 'x-forwarded-for': chain } })).status;
  expect(await list('8.8.8.8, 192.168.1.5')).toBe(403);
  expect(await list('192.168.1.5, 8.8.8.8')).toBe(200);
});

test('attention names the proxy that is not listed only where its requests come from elsewhere', async () => {
  const { token } = await panel.logIn('root');
  const { json } = await panel.send('/api/attention', { token });
  expect(json.data.map(({ code }: { code: string }) => code)).not.toContain('proxy_not_listed');
});
