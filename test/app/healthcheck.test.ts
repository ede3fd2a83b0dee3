import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let ready = true;
const answer = () =>
  new Response(JSON.stringify({ status: ready ? 'ready' : 'not_ready' }), { status: ready ? 200 : 503 });
const plain = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: answer });
const servers = [plain];
afterAll(() => Promise.all(servers.map((server) => server.stop(true))));

describe('healthcheck', () => {
  test('exits 0 when the gateway is ready', async () => {
    ready = true;
    const { code, out } = await runCommand(['healthcheck', '--port', String(plain.port)]);
    expect([code, out]).toEqual([0, `ready: http://127.0.0.1:${plain.port}\n`]);
  });

  test('requests loopback when the gateway listens on a wildcard address', async () => {
    ready = true;
    const { code } = await runCommand(['healthcheck'], {
      env: { HOST: '0.0.0.0', PORT: String(plain.port) },
    });
    expect(code).toBe(0);
  });

  test('waits for a start that is under way', async () => {
    ready = false;
    const waiting = runCommand(['healthcheck', '--wait', '60', '--port', String(plain.port)]);
    setTimeout(() => {
      ready = true;
    }, 1500);
    expect((await waiting).code).toBe(0);
    expect((await runCommand(['healthcheck', '--wait', 'soon'])).code).toBe(2);
  });

  test('exits 1 when it is not ready', async () => {
    ready = false;
    const { code, err } = await runCommand(['healthcheck', '--port', String(plain.port)]);
    expect(code).toBe(1);
    expect(err).toContain('/readyz answered 503');
    const json = await runCommand(['healthcheck', '--json', '--port', String(plain.port)]);
    expect([json.code, JSON.parse(json.out)]).toEqual([
      1,
      expect.objectContaining({ ok: false, status: 503, detail: { status: 'not_ready' } }),
    ]);
  });

  test('exits 1 where another program answers every path with 200', async () => {
    const page = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('<!doctype html>') });
    servers.push(page);
    const { code, err } = await runCommand(['healthcheck', '--port', String(page.port)]);
    expect([code, err]).toEqual([1, expect.stringContaining('another program answers there')]);
  });

  test('exits 1 when nothing listens', async () => {
    // Nothing listens on this port. One that was just freed may already be in use again.
    const { code, err } = await runCommand(['healthcheck', '--port', '1']);
    expect(code).toBe(1);
    expect(err).toContain('no program listens there');
  });

  test('uses TLS with the configured certificate', async () => {
    const folder = temporaryFolder();
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const made = Bun.spawnSync(
      [
        'openssl',
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=gate.example',
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stderr: 'ignore' },
    );
    expect(made.exitCode).toBe(0);
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: answer,
      tls: { cert: Bun.file(cert), key: Bun.file(key) },
    });
    servers.push(server);
    ready = true;
    const env = { TLS_CERT_FILE: cert, TLS_KEY_FILE: key, PORT: String(server.port) };
    expect((await runCommand(['healthcheck'], { env })).code).toBe(0);
  });

  test('an invalid configuration lists all faults and exits 1', async () => {
    const { code, err } = await runCommand(['healthcheck'], { env: { PORT: '99999', NODE_ROLE: 'x' } });
    expect(code).toBe(1);
    expect(err).toContain('PORT: read "99999"');
    expect(err).toContain('NODE_ROLE: read "x"');
  });
});
