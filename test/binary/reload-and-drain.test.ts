/** A certificate that is renewed while the gateway runs, and a stop that proxies can follow. */
import { describe, expect, test } from 'bun:test';
import { cpSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { testInFullRun } from '../support/full-run.ts';
import { setUp, startGateway } from '../support/gateway.ts';
import { makeCertificate as makeCertificateIn } from '../support/make-certificate.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();

const makeCertificate = (name: string) => makeCertificateIn(folder, name);

const servedName = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.end();
    });
    socket.on('error', reject);
  });

describe('SIGHUP', () => {
  test('serves a new certificate, keeps the former one when the files are bad, and says so', async () => {
    const [first, second] = [makeCertificate('first'), makeCertificate('second')];
    const [cert, key] = [join(folder, 'served.crt'), join(folder, 'served.key')];
    cpSync(first.cert, cert);
    cpSync(first.key, key);
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const gateway = await startGateway({ env: { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } });
    try {
      const url = `https://127.0.0.1:${gateway.port}`;
      expect(await servedName(gateway.port)).toBe('first');
      cpSync(second.cert, cert);
      gateway.signal('SIGHUP');
      await gateway.logged('the former one is served');
      expect(gateway.log()).toContain('the key does not belong to the certificate');
      expect(await servedName(gateway.port)).toBe('first');
      const root = await setUp({ ...gateway, url });
      const risks = async () => JSON.stringify(await root.call('GET', '/api/attention'));
      expect(await risks()).toContain('The previous certificate is used until they are fixed.');

      writeFileSync(key, 'no key');
      gateway.signal('SIGHUP');
      await gateway.logged('TLS_KEY_FILE is not a private key');
      cpSync(second.key, key);
      gateway.signal('SIGHUP');
      await gateway.logged('serving the new TLS certificate');
      expect(await servedName(gateway.port)).toBe('second');
      expect(await risks()).not.toContain('The previous certificate');
      expect((await fetch(`${url}/livez`)).status).toBe(200);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      expect(await gateway.stop()).toBe(0);
    }
  });

  test('mismatched key and certificate: the start says so, without a stack trace', async () => {
    const argv = ['serve', '--port', '0', '--data-dir', temporaryFolder()];
    const env = { TLS_CERT_FILE: makeCertificate('one').cert, TLS_KEY_FILE: makeCertificate('other').key };
    const { code, err } = await runCommand(argv, { env });
    expect([code, err.trim().split('\n').at(-1)]).toEqual([
      1,
      'taskgate: TLS_CERT_FILE and TLS_KEY_FILE cannot be served: the key does not belong to the certificate',
    ]);
  });

  test('does not end a gateway without TLS', async () => {
    const gateway = await startGateway();
    gateway.signal('SIGHUP');
    await gateway.logged('reloading');
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
  });
});

describe('a stop with SHUTDOWN_DRAIN_SECONDS', () => {
  const readiness = async (url: string) => {
    const response = await fetch(`${url}/readyz`, { keepalive: false });
    return { status: response.status, body: await response.json() };
  };

  test('first says at /readyz that it stops, and serves until the time is over', async () => {
    const gateway = await startGateway({ env: { SHUTDOWN_DRAIN_SECONDS: '2' } });
    expect((await readiness(gateway.url)).status).toBe(200);
    gateway.signal('SIGTERM');
    await until('it drains', async () => (await readiness(gateway.url)).status === 503);
    expect(await readiness(gateway.url)).toEqual({
      status: 503,
      body: { status: 'not_ready', checks: {}, reasons: { gateway: 'It is about to stop.' } },
    });
    expect((await fetch(`${gateway.url}/livez`, { keepalive: false })).status).toBe(200);
    expect(await gateway.exited).toBe(0);
  });

  test('ends at once at a second signal', async () => {
    const gateway = await startGateway({ env: { SHUTDOWN_DRAIN_SECONDS: '3600' } });
    gateway.signal('SIGTERM');
    await gateway.logged('draining');
    gateway.signal('SIGTERM');
    expect(await gateway.exited).toBe(1);
  });
});

testInFullRun('nodes of a cluster are taken out of service in turn, by command, API and panel', async () => {
  const databaseUrl = await migratedDatabaseUrl();
  const first = await startGateway({ databaseUrl });
  const second = await startGateway({ databaseUrl });
  try {
    const root = await setUp(first);
    type Node = { id: string; host: string; drained: boolean; self: boolean };
    const nodes = async () => (await root.call<{ nodes: Node[] }>('GET', '/api/node')).nodes;
    const [own, other] = (await nodes()).toSorted((a, b) => Number(b.self) - Number(a.self)) as [Node, Node];
    expect(own.host).toBe(hostname());
    const maintenance = (...words: string[]) => runBeside(first, ['maintenance', ...words]);
    const drained = await maintenance('drain', own.id);
    expect([drained.code, drained.out]).toEqual([0, expect.stringContaining(`node ${own.id} on ${own.host} is out`)]);
    await until('the node is out of service', async () => (await fetch(`${first.url}/readyz`)).status === 503);
    expect(await (await fetch(`${first.url}/readyz`)).json()).toMatchObject({
      reasons: { gateway: 'An operator has taken it out of service.' },
    });
    expect((await fetch(`${second.url}/readyz`)).status).toBe(200);
    expect((await maintenance('status')).out).toContain(`node ${own.id} on ${own.host} is out of service`);
    await expect(root.call('POST', `/api/node/${other.id}/drain`)).rejects.toThrow('Another node is out of service');
    await root.call('DELETE', `/api/node/${own.id}/drain`);
    await until('the node is in service', async () => (await fetch(`${first.url}/readyz`)).status === 200);
    const audit = await root.call<{ items: { action: string }[] }>('GET', '/api/audit');
    expect(audit.items.map(({ action }) => action).filter((action) => action.startsWith('node.'))).toEqual([
      'node.resume',
      'node.drain',
    ]);
  } finally {
    await Promise.all([first.kill(), second.kill()]);
  }
});
