import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../kernel/index.ts';
import type { Certificate } from './watch-certificate.ts';

export type CertificateFiles = {
  /** The key of the account at the authority as PEM text; made when there is none. */
  accountKey(): Promise<string>;
  /** The latest certificate for these names, if there is one. */
  read(): Promise<Certificate | undefined>;
  write(certificate: Certificate): Promise<void>;
};

const CERTIFICATE_START = '-----BEGIN CERTIFICATE-----';

/**
 * Account key and certificate, only for the gateway's own user. Their names depend on the authority
 * and the host names: after a change of either there is a new one, and the former stays.
 */
export function openCertificateFiles(options: {
  folder: string;
  directoryUrl: string;
  names: readonly string[];
}): CertificateFiles {
  const { folder, directoryUrl, names } = options;
  const toPath = (kind: string, ...of: readonly string[]) =>
    join(folder, `${kind}-${sha256Hex(of.join('\n')).slice(0, 16)}.pem`);
  const account = toPath('account', directoryUrl);
  const certificate = toPath('certificate', directoryUrl, ...names);

  /** Whole or not at all, and on the disk when it returns. */
  async function replace(path: string, text: string): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      // A file that a crash left may have another mode.
      await chmod(`${path}.new`, 0o600);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
    const directory = await open(folder, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  }

  return {
    async accountKey() {
      const found = await readIfThere(account);
      if (found !== undefined) {
        createPrivateKey(found);
        return found;
      }
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      await replace(account, key);
      return key;
    },
    async read() {
      const found = await readIfThere(certificate);
      const start = found?.indexOf(CERTIFICATE_START) ?? -1;
      return found === undefined || start < 0 ? undefined : { key: found.slice(0, start), cert: found.slice(start) };
    },
    // One file for both, so that they always fit.
    write: ({ key, cert }) => replace(certificate, `${key}${cert}`),
  };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
