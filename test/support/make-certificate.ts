import { join } from 'node:path';

/** Makes a certificate for localhost that signs itself; its name tells which one is served. */
export function makeCertificate(folder: string, name: string): { cert: string; key: string } {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'];
  const made = Bun.spawnSync(['openssl', 'req', '-x509', ...kind, ...subject, '-keyout', key, '-out', cert]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
  return { cert, key };
}
