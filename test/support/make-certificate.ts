import { join } from 'node:path';

type Options = { days?: number; hosts?: readonly string[] };

/**
 * Makes a certificate for localhost, or other hosts, that signs itself; its name tells which one is
 * served. `days`: how long it is valid; below 0, it is no more.
 */
export function makeCertificate(
  folder: string,
  name: string,
  { days = 30, hosts = ['localhost'] }: Options = {},
): { cert: string; key: string } {
  const [cert, key, asked] = ['crt', 'key', 'csr'].map((ending) => join(folder, `${name}.${ending}`)) as [
    string,
    string,
    string,
  ];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = hosts.map((host) => `DNS:${host}`).join(',');
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`];
  openssl('req', '-new', ...kind, ...subject, '-keyout', key, '-out', asked);
  const signed = ['-in', asked, '-signkey', key, '-days', `${days}`, '-copy_extensions', 'copyall'];
  openssl('x509', '-req', ...signed, '-out', cert);
  return { cert, key };
}

function openssl(...args: string[]): void {
  const made = Bun.spawnSync(['openssl', ...args]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
}
