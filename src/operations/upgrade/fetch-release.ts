import { open } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { describeBytes, err, ok, type Result, silentLogger, systemClock, unreadable } from '../../kernel/index.ts';
import { hashData, type PublicKey, readSignature, verifySignature } from '../../plugins/index.ts';
import { canonicalHost, createUpstream, type Network } from '../../upstream/index.ts';

/** `absent`: the release has no such file. */
export type ReadFault = { message: string; absent: boolean };

export type ReadFile = (name: string, maxBytes: number) => Promise<Result<Uint8Array, ReadFault>>;

/** Without a byte for this long, a download is given up; in all it may take four times as long. */
const IDLE_MS = 150_000;
const CONNECT_MS = 10_000;
const HEADERS_MS = 30_000;
/** An address such as `…/releases/latest/download` leads to a store of files. */
const MAX_REDIRECTS = 5;

/**
 * Reads files of a release below an https address or in a folder. `certificates`: trusted instead
 * of the well-known authorities. `close` ends what is open.
 */
export function openRelease(
  place: string,
  { certificates, network }: { certificates?: readonly string[]; network?: Network } = {},
): { read: ReadFile; close: () => Promise<void> } {
  if (isAbsolute(place))
    return { read: (name, maxBytes) => readFromFolder(join(place, name), maxBytes), close: async () => {} };
  const upstream = createUpstream({
    allowPrivate: false,
    clock: systemClock,
    logger: silentLogger,
    ...(network ? { network } : {}),
    ...(certificates ? { trustedCertificates: certificates } : {}),
  });
  const base = place.endsWith('/') ? place : `${place}/`;
  const read: ReadFile = async (name, maxBytes) => {
    const answer = await upstream.request({
      url: `${base}${name}`,
      method: 'GET',
      headers: {},
      body: { kind: 'none' },
      // The operator has named it.
      privateHosts: [canonicalHost(new URL(base))],
      isKnownHost: () => true,
      maxRedirects: MAX_REDIRECTS,
      allowRedirect: (url) => url.protocol === 'https:',
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: HEADERS_MS,
      idleTimeoutMs: IDLE_MS,
      maxResponseBytes: maxBytes,
    });
    // What the outbound requests know as a vendor is here the place of releases.
    const inWords = (message: string): string => `${name}: ${message.replace('the vendor', 'the server')}`;
    if (!answer.ok) return err({ message: inWords(answer.error.message), absent: false });
    const { status } = answer.value;
    if (status !== 200) {
      answer.value.discard();
      return err({ message: `${name}: HTTP ${status}`, absent: status === 404 || status === 410 });
    }
    const bytes = await answer.value.bytes();
    return bytes.ok ? bytes : err({ message: inWords(bytes.error.message), absent: false });
  };
  return { read, close: () => upstream.close() };
}

async function readFromFolder(path: string, maxBytes: number): Promise<Result<Uint8Array, ReadFault>> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      if (size > maxBytes) return err({ message: `${path} has more than ${describeBytes(maxBytes)}`, absent: false });
      return ok(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    return err({
      message: unreadable(path, error).message,
      absent: (error as NodeJS.ErrnoException).code === 'ENOENT',
    });
  }
}

/** What a release offers for this platform. */
export type OfferedRelease = {
  version: string;
  /** The archive with the executable, and its SHA-256 in hex. */
  file: string;
  sha256: string;
};

export const CHECKSUMS_FILE = 'SHA256SUMS';
export const SIGNATURE_FILE = 'SHA256SUMS.minisig';

/**
 * The comment in a release's signature of its checksums. It tells them from other files that the
 * same key has signed.
 */
export const releaseComment = (version: string): string => `taskgate release ${version}`;

type ReleaseFiles = {
  checksums: Uint8Array;
  /** `undefined`: there is none. */
  signature: Uint8Array | undefined;
  key: PublicKey;
  /** The platform, as in the archives' names. */
  target: string;
};

/** Reads a release's checksums, once its signature is found to be the key's. */
export function readRelease({ checksums, signature, key, target }: ReleaseFiles): Result<OfferedRelease, string> {
  if (signature === undefined) return err(`the release is not signed: it has no ${SIGNATURE_FILE}`);
  const signed = readSignature(Buffer.from(signature).toString('utf8'));
  if (signed === undefined) return err(`${SIGNATURE_FILE} is not a signature of minisign`);
  if (signed.keyId !== key.id) return err(`the release is signed by another key: ${signed.keyId}, expected ${key.id}`);
  if (!verifySignature(key, hashData(checksums), signed)) {
    return err(`the signature does not fit ${CHECKSUMS_FILE}: one of them was changed`);
  }
  const lines = Buffer.from(checksums).toString('utf8').split('\n');
  for (const line of lines) {
    const [, sha256 = '', file = ''] = /^([0-9a-f]{64}) {2}(taskgate-[\w.+-]{1,100})$/.exec(line) ?? [];
    const ending = [`-${target}.tar.gz`, `-${target}.zip`].find((each) => file.endsWith(each));
    if (ending === undefined) continue;
    const version = file.slice('taskgate-'.length, -ending.length);
    // `linux-x64` is also the end of no other platform's name, and the comment names the version.
    if (signed.trustedComment !== releaseComment(version)) return err('the signature is not that of a release');
    return ok({ version, file, sha256 });
  }
  return err(`the release has no executable for ${target}`);
}
