/**
 * Settings of the executable: encrypted, applied by the other node, tested, and marked when the
 * secret that encrypted them is gone.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { openRaw } from '../contract/open-raw.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  type GatewayOptions,
  ROOT,
  setUp,
  signIn,
  startGateway,
} from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { SECRETS } from '../support/run-command.ts';
import { proofHeader } from '../support/security-proof.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const CLEAR = 'never-to-be-seen-again';

const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/**
 * An OpenID Connect provider that is complete enough for a trial; it accepts the client `gate` only
 * with the right secret.
 */
function startProvider(): string {
  const right = `Basic ${Buffer.from(`gate:${CLEAR}`).toString('base64')}`;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request): Response {
      const { pathname, origin } = new URL(request.url);
      if (pathname === '/keys') return Response.json({ keys: [{ kty: 'RSA', use: 'sig', n: 'x', e: 'AQAB' }] });
      if (pathname === '/token') {
        const known = request.headers.get('authorization') === right;
        return Response.json({ error: known ? 'invalid_grant' : 'invalid_client' }, { status: known ? 400 : 401 });
      }
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/keys`,
      });
    },
  });
  stops.push(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

type Trial = { ok: boolean; steps: { name: string; ok: boolean; message: string }[] };
type Option = { key: string; value: string; unreadable?: true };

for (const dialect of RULE_DATABASES) {
  describe(`on ${dialect}`, () => {
    test('a provider is set up, tested, applied by the other node, and unreadable once the secret has changed', async () => {
      const options: GatewayOptions = {
        dataDir: temporaryFolder(),
        databaseUrl: dialect === 'postgres' ? await migratedDatabaseUrl() : '',
        env: { ...SECRETS, LOG_LEVEL: 'debug', SYNC_FREQUENCY: '600' },
      };
      const nodes: Gateway[] = [await startGateway(options)];
      stops.push(() => Promise.all(nodes.map((node) => node.stop())));
      if (dialect === 'postgres') nodes.push(await startGateway({ ...options, dataDir: temporaryFolder() }));
      const [first, last] = [nodes[0] as Gateway, nodes.at(-1) as Gateway];
      const root: Administrator = await setUp(first);
      const status = async (node: Gateway) =>
        (await ask(`${node.url}/api/status`)).body.data as Record<string, unknown>;
      expect(await status(first)).toMatchObject({ oidc_enabled: false, register_enabled: false });

      const headers = await proofHeader({ url: first.url, token: root.token, password: ROOT.password });
      const early = await ask(`${first.url}/api/option`, {
        method: 'PUT',
        token: root.token,
        headers,
        body: { key: 'oidc.enabled', value: 'true' },
      });
      expect([early.status, early.body.code, early.body.message]).toEqual([
        400,
        'VALIDATION_FAILED',
        'Set oidc.client_id and oidc.client_secret and oidc.well_known before you turn on oidc.enabled.',
      ]);

      const provider = startProvider();
      const set = (values: Record<string, string>) =>
        root.call('PUT', '/api/option', { options: Object.entries(values).map(([key, value]) => ({ key, value })) });
      await set({
        'oidc.client_id': 'gate',
        'oidc.client_secret': 'a wrong secret',
        'oidc.well_known': `${provider}/.well-known/openid-configuration`,
      });
      const attempt = () => root.call<Trial>('POST', '/api/option/test', { what: 'oidc' });
      expect((await attempt()).steps.at(-1)).toMatchObject({ name: 'client', ok: false });
      await set({ 'oidc.client_secret': CLEAR, 'oidc.enabled': 'true' });
      const tried = await attempt();
      expect([tried.ok, tried.steps.map(({ name }) => name)]).toEqual([true, ['discovery', 'keys', 'client']]);

      const moved = await ask(`${last.url}/api/option`, {
        method: 'PUT',
        token: root.token,
        headers,
        body: { key: 'oidc.well_known', value: 'https://evil.example/.well-known/openid-configuration', force: true },
      });
      expect([moved.status, moved.body.code, moved.body.message]).toEqual([
        400,
        'VALIDATION_FAILED',
        'oidc.client_secret was entered for the former oidc.well_known and is sent nowhere else: enter it again, or empty it, in the same change.',
      ]);

      await until('the other node applies it', async () => (await status(last)).oidc_enabled === true);
      const seen = JSON.stringify([
        await root.call('GET', '/api/option'),
        await root.call('GET', '/api/audit?page_size=100'),
        await status(last),
      ]);
      expect(seen).toContain('"***"');
      const raw = openRaw({ databaseUrl: options.databaseUrl ?? '', dataDir: first.dataDir });
      const stored = JSON.stringify([
        await raw.rows('select * from options'),
        await raw.rows('select * from audit_logs'),
      ]);
      await raw.close();
      for (const text of [seen, stored, ...nodes.map((node) => node.log())]) expect(text).not.toContain(CLEAR);

      await Promise.all(nodes.splice(0).map((node) => node.stop()));
      const another = { ...options.env, CRYPTO_SECRET: 'another-secret-of-the-tests-0123456789' };
      const restarted = await startGateway({ ...options, env: another });
      nodes.push(restarted);
      expect(await status(restarted)).toMatchObject({ oidc_enabled: false });
      const again = await signIn(restarted.url);
      const listed = await again.call<Option[]>('GET', '/api/option');
      expect(listed.find(({ key }) => key === 'oidc.client_secret')).toMatchObject({ value: '***', unreadable: true });
      await restarted.logged('oidc.client_secret');
    });
  });
}
