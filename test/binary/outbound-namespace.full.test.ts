/**
 * A gateway whose network reaches nothing but a proxy, which wants a login and resolves all names:
 * the main job, a relayed stream, a webhook, a marketplace and a sign-in, each over TLS of an own
 * authority.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { pluginSource } from '../plugins/support.ts';
import { type ChatVendor, startChatVendor } from '../support/chat-vendor.ts';
import { type ClosedNetwork, closeNetwork, findNetworkFault } from '../support/closed-network.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { type MarketServer, publish, startMarket } from '../support/market-server.ts';
import { startProxy, type TestProxy } from '../support/outbound-proxy.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver, verified } from '../support/webhook-receiver.ts';

const LOGIN = { user: 'gate', password: 'word-of-the-company-proxy' };
const HOSTS = ['vendor.example', 'chats.example', 'hooks.example', 'market.example', 'login.example'] as const;

const fault = findNetworkFault();

describe.skipIf(fault !== undefined).each(['http', 'socks5h'] as const)(
  `only %s leads outside${fault === undefined ? '' : `: ${fault}`}`,
  (scheme) => {
    let proxy: TestProxy;
    let vendor: VendorProcess;
    let chats: ChatVendor;
    let hooks: Receiver;
    let market: MarketServer;
    let idp: IdentityProvider;
    let network: ClosedNetwork;
    let gateway: Gateway;
    let admin: Administrator;
    let readUrl: (host: (typeof HOSTS)[number]) => string;
    const closers: (() => unknown)[] = [];

    beforeAll(async () => {
      proxy = await startProxy({
        scheme,
        login: LOGIN,
        names: Object.fromEntries(HOSTS.map((host) => [host, '127.0.0.1'])),
      });
      vendor = await startVendor();
      chats = await startChatVendor();
      hooks = await startReceiver();
      market = startMarket();
      idp = await startIdentityProvider();
      const files = makeCertificate(temporaryFolder(), 'company', { hosts: HOSTS });
      const { port, close } = await terminateTls(files, {
        'vendor.example': vendor.port,
        'chats.example': Number(new URL(chats.url).port),
        'hooks.example': hooks.port,
        'market.example': Number(new URL(market.url).port),
        'login.example': Number(new URL(idp.base).port),
      });
      readUrl = (host) => `https://${host}:${port}`;
      const own = await freePort();
      network = await closeNetwork({ out: proxy.port, in: own });
      gateway = await startGateway({
        port: own,
        prefix: network.prefix,
        env: {
          ...{ OUTBOUND_PROXY: proxy.url, OUTBOUND_NO_PROXY: 'none.example', OUTBOUND_PROXY_RESOLVES: 'true' },
          ...{ OUTBOUND_CA_FILE: files.cert, TASK_POLL_INTERVAL_SECONDS: '1', LOG_LEVEL: 'debug' },
        },
      });
      closers.push(
        ...[() => proxy.stop(), () => vendor.stop(), () => chats.stop(), () => hooks.stop(), () => market.stop()],
        ...[() => idp.stop(), close, () => network.stop(), () => gateway.stop()],
      );
      admin = await setUp(gateway);
    });
    afterAll(async () => {
      const log = gateway?.log() ?? '';
      for (const close of closers.reverse()) await close();
      expect(log).not.toContain(LOGIN.password);
    });

    test('nothing is reached without it', async () => {
      const fields = { name: 'direct', status: 2, proxy: 'direct' };
      for (const base of [vendor.url, readUrl('vendor.example')]) {
        const id = await admin.createChannel(base, { ...fields, models: ['demo-direct'] });
        const { steps } = await admin.call<{ steps: { ok: boolean }[] }>('POST', `/api/channel/${id}/test`);
        expect(steps.at(-1)?.ok).toBe(false);
      }
      expect(proxy.asked).toEqual([]);
    });

    test('the main job and its webhook', async () => {
      await admin.createChannel(readUrl('vendor.example'));
      const made = await admin.call<{ key: string; new_webhook_secret: string }>('POST', '/api/token', {
        ...{ name: 'hooked', unlimited_quota: true, webhook_url: `${readUrl('hooks.example')}/hook` },
      });
      const { body } = await submit(gateway.url, made.key, {});
      const task = await waitForEnd(gateway.url, made.key, String(body.id ?? body.task_id));
      expect(task.status).toBe('SUCCESS');
      const content = await fetch(`${gateway.url}/v1/videos/${task.id}/content`, {
        headers: { authorization: `Bearer ${made.key}` },
      });
      expect([content.status, (await content.bytes()).length > 0]).toEqual([200, true]);
      const notice = await until('the webhook arrives', () =>
        hooks.received.find(({ payload }) => payload.data.id === task.id),
      );
      expect(verified(notice, made.new_webhook_secret)).toBe(1);
    });

    test('a relayed stream', async () => {
      await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'gpt-chat', expression: '0' });
      await admin.createChannel(readUrl('chats.example'), {
        ...{ type: 1, name: 'chats', key: chats.key, models: ['gpt-chat'], task_plugin_key: undefined },
      });
      const answer = await ask(`${gateway.url}/v1/chat/completions`, {
        token: await admin.createKey(),
        body: { model: 'gpt-chat', stream: true, messages: [{ role: 'user', content: 'hi' }] },
      });
      expect([answer.status, String(answer.body.text).includes('[DONE]')]).toEqual([200, true]);
    });

    test('a plugin of a marketplace', async () => {
      const source = pluginSource({ key: 'paper', name: 'Paper', version: '1.0.0', models: ['paper-1'] });
      const index = new URL(publish(market, '/shop', { plugins: [{ key: 'paper', version: '1.0.0', source }] }));
      const room = '/api/plugin/task/marketplace';
      await admin.call('PUT', `${room}/sources`, [
        { name: 'Shop', index_url: `${readUrl('market.example')}${index.pathname}` },
      ]);
      await admin.call('POST', `${room}/install`, { source: 'Shop', key: 'paper', version: '1.0.0' });
      const plugins = await admin.call<{ key: string }[]>('GET', '/api/plugin/task');
      expect(plugins.map(({ key }) => key)).toContain('paper');
    });

    test('a sign-in by OpenID Connect', async () => {
      const issuer = `${readUrl('login.example')}/oidc`;
      idp.state.document = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
      };
      idp.state.token = { claims: { iss: issuer } };
      const options = Object.entries({
        ...{ ServerAddress: gateway.url, RegisterEnabled: 'true' },
        ...Object.fromEntries(Object.entries(idp.options()).filter(([key]) => key.startsWith('oidc.'))),
        'oidc.well_known': `${issuer}/.well-known/openid-configuration`,
      }).map(([key, value]) => ({ key, value }));
      await admin.call('PUT', '/api/option', { options });
      const begun = await ask(`${gateway.url}/api/oauth/state`, { body: { provider: 'oidc', intent: 'login' } });
      const { authorization_url: address } = begun.body.data as { authorization_url: string };
      expect(address).toStartWith(`${issuer}/authorize?`);
      // The person's browser has a network of its own.
      const { query } = await idp.agree(address.replace(readUrl('login.example'), idp.base));
      const finished = await ask(
        `${gateway.url}/api/oauth/oidc?${new URLSearchParams({ ...query, ...(query.iss ? { iss: issuer } : {}) })}`,
      );
      expect([finished.status, idp.complaints]).toEqual([200, []]);
    });

    test('the proxy was asked for names alone', () => {
      expect(new Set(proxy.asked.map((each) => each.split(':')[0]))).toEqual(new Set<string>(HOSTS));
    });
  },
);

/** One port for hosts that speak without TLS; the name that a client asks for says which. */
async function terminateTls(
  files: { cert: string; key: string },
  ports: Readonly<Record<string, number>>,
): Promise<{ port: number; close: () => void }> {
  const keys = { cert: readFileSync(files.cert), key: readFileSync(files.key) };
  const server = tls.createServer(keys, (client) => {
    const target = net.connect(ports[String(client.servername)] ?? 0, '127.0.0.1');
    client.pipe(target);
    target.pipe(client);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as net.AddressInfo).port, close: () => void server.close() };
}
