import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRelease } from '../../src/operations/upgrade/fetch-release.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { trustedCertificates } from '../upstream/harness.ts';

const file = (name: string) => Bun.file(new URL(`../upstream/certificates/${name}.pem`, import.meta.url));
const FILES: Record<string, string> = { '/latest/SHA256SUMS': 'sums', '/store/archive': 'an archive' };

async function serve() {
  return Bun.serve({
    port: 0,
    tls: { cert: file('server-cert'), key: file('server-key') },
    fetch(request) {
      const { pathname, origin } = new URL(request.url);
      if (pathname === '/latest/moved') return Response.redirect(`${origin}/store/archive`);
      if (pathname === '/latest/downgraded') return Response.redirect(`http://localhost/store/archive`);
      const text = FILES[pathname];
      return text === undefined ? new Response('', { status: 404 }) : new Response(text);
    },
  });
}

test('a release at an https address: files, redirects to a store, limits, and what is not there', async () => {
  const server = await serve();
  const release = openRelease(`https://localhost:${server.port}/latest`, { certificates: trustedCertificates });
  const read = async (name: string, maxBytes = 100) => {
    const result = await release.read(name, maxBytes);
    return result.ok ? Buffer.from(result.value).toString() : result.error;
  };
  try {
    expect(await read('SHA256SUMS')).toBe('sums');
    expect(await read('moved')).toBe('an archive');
    expect(await read('nothing')).toEqual({ message: 'nothing: HTTP 404', absent: true });
    expect(await read('SHA256SUMS', 3)).toMatchObject({ absent: false });
    expect(await read('downgraded')).toMatchObject({ absent: false });
  } finally {
    await release.close();
    await server.stop(true);
  }
});

test('forged server: a certificate that no known authority has signed is refused', async () => {
  const server = await serve();
  const release = openRelease(`https://localhost:${server.port}/latest/`);
  try {
    expect(await release.read('SHA256SUMS', 100)).toMatchObject({ ok: false, error: { absent: false } });
  } finally {
    await release.close();
    await server.stop(true);
  }
});

test('a release in a folder', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'SHA256SUMS'), 'sums');
  const { read } = openRelease(folder);
  expect(await read('SHA256SUMS', 4)).toEqual({ ok: true, value: Buffer.from('sums') });
  expect(await read('SHA256SUMS', 3)).toMatchObject({ ok: false, error: { absent: false } });
  expect(await read('nothing', 3)).toMatchObject({ ok: false, error: { absent: true } });
});
