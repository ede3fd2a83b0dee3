/** Certificates from a real ACME authority: the first, its renewal, and an authority away. */
import { describe, expect } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { createAcmeAuthority } from '../support/acme-authority.ts';
import { freePort } from '../support/free-port.ts';
import { testInFullRun } from '../support/full-run.ts';
import { setUp, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const servedCertificate = (port: number): Promise<PeerCertificate> =>
  new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false };
    const socket = connect(options, () => {
      resolve(socket.getPeerCertificate());
      socket.end();
    });
    socket.on('error', reject);
  });

const NINETY_DAYS = 7_776_000;
const isFromAuthority = ({ issuer }: PeerCertificate): boolean => String(issuer.CN).startsWith('Pebble');

async function prepare(validSeconds: number, more: Record<string, string> = {}) {
  const [port, httpPort] = [await freePort(), await freePort()];
  const authority = await createAcmeAuthority({ httpPort, validSeconds });
  const env = {
    ACME_DOMAIN: 'localhost',
    ACME_EMAIL: 'root@example.com',
    ACME_DIRECTORY_URL: authority.directoryUrl,
    ACME_CA_FILE: authority.caFile,
    ACME_HTTP_PORT: `${httpPort}`,
    ...more,
  };
  return { authority, httpPort, options: { port, dataDir: temporaryFolder(), env } };
}

describe('a gateway with ACME_DOMAIN', () => {
  testInFullRun('serves HTTPS with a certificate by HTTP-01, keeps it for the next start, and renews it', async () => {
    const { authority, httpPort, options } = await prepare(NINETY_DAYS);
    await authority.start();
    let gateway = await startGateway(options);
    await gateway.logged('serving the new TLS certificate');
    const first = await servedCertificate(options.port);
    expect(isFromAuthority(first)).toBe(true);
    const redirect = await fetch(`http://localhost:${httpPort}/tasks?page=2`, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, 'https://localhost/tasks?page=2']);
    const foreign = await fetch(`http://127.0.0.1:${httpPort}/tasks`, { redirect: 'manual' });
    expect(foreign.status).toBe(404);
    const folder = join(options.dataDir, 'acme');
    expect(readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600, 0o600]);
    expect(await gateway.stop()).toBe(0);

    await authority.kill();
    gateway = await startGateway(options);
    expect((await servedCertificate(options.port)).serialNumber).toBe(first.serialNumber);
    expect(await gateway.stop()).toBe(0);
  });

  testInFullRun('renews before the end, and says at the home page where it cannot', async () => {
    const { authority, options } = await prepare(45);
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const gateway = await startGateway(options);
    try {
      await gateway.logged('the TLS certificate could not be renewed');
      const url = `https://127.0.0.1:${gateway.port}`;
      const root = await setUp({ ...gateway, url });
      const risks = async () => JSON.stringify(await root.call('GET', '/api/attention'));
      expect(await risks()).toContain('could not be renewed (the authority cannot be reached');
      expect((await servedCertificate(options.port)).issuer.CN).toBe('Taskgate, self-signed');

      await authority.start();
      gateway.signal('SIGHUP');
      await gateway.logged('serving the new TLS certificate');
      const first = await servedCertificate(options.port);
      expect(isFromAuthority(first)).toBe(true);
      expect(await risks()).not.toContain('could not be renewed');
      await until('the certificate is renewed', async () => {
        gateway.signal('SIGHUP');
        return (await servedCertificate(options.port)).serialNumber !== first.serialNumber;
      });
      expect((await fetch(`${url}/livez`)).status).toBe(200);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      expect(await gateway.stop()).toBe(0);
      await authority.kill();
    }
  });

  testInFullRun('and TLS-ALPN-01 starts with a warning, serves what it has, and leaves port 80 alone', async () => {
    const { authority, httpPort, options } = await prepare(NINETY_DAYS, { ACME_CHALLENGE: 'tls-alpn-01' });
    await authority.start();
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const taken = Bun.serve({ port: httpPort, hostname: '127.0.0.1', fetch: () => new Response() });
    const gateway = await startGateway(options);
    try {
      await gateway.logged('ACME_CHALLENGE=tls-alpn-01 is no longer supported');
      expect((await servedCertificate(options.port)).issuer.CN).toBe('Taskgate, self-signed');
      const root = await setUp({ ...gateway, url: `https://127.0.0.1:${gateway.port}` });
      expect(JSON.stringify(await root.call('GET', '/api/attention'))).toContain('remove ACME_CHALLENGE');
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      expect(await gateway.stop()).toBe(0);
      await Promise.all([taken.stop(true), authority.kill()]);
    }
  });
});
