import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  scryptSync,
} from 'node:crypto';
import { err, ok, type Result } from '../../kernel/index.ts';

/**
 * A public key in minisign's form: the text in Base64 (`RWQ…`), and the id that names it, as
 * minisign prints it.
 */
export type PublicKey = { text: string; id: string };

const ALGORITHM = Buffer.from('Ed');
export const KEY_ID_BYTES = 8;
const KEY_BYTES = 32;

/** The id of a key: its bytes are a number in little-endian order, written in hex. */
export const formatKeyId = (id: Uint8Array): string => Buffer.from(id).reverse().toString('hex').toUpperCase();

/** Decodes Base64 of exactly `bytes` bytes in its only spelling. */
export function decodeBase64(text: string, bytes: number): Buffer | undefined {
  if (text.length !== Math.ceil(bytes / 3) * 4) return undefined;
  const decoded = Buffer.from(text, 'base64');
  return decoded.length === bytes && decoded.toString('base64') === text ? decoded : undefined;
}

/** `undefined`: the text is not a public key of minisign. White space around it does not matter. */
export function parsePublicKey(text: string): PublicKey | undefined {
  if (text.length > 200) return undefined;
  const trimmed = text.trim();
  const bytes = decodeBase64(trimmed, ALGORITHM.length + KEY_ID_BYTES + KEY_BYTES);
  if (!bytes?.subarray(0, ALGORITHM.length).equals(ALGORITHM)) return undefined;
  return { text: trimmed, id: formatKeyId(bytes.subarray(ALGORITHM.length, ALGORITHM.length + KEY_ID_BYTES)) };
}

/** The last line of a public key's file; the line before it is a comment. */
export function parsePublicKeyFile(text: string): PublicKey | undefined {
  if (text.length > 4096) return undefined;
  const [last, ...before] = text.trim().split(/\r?\n/).reverse();
  return before.length > 1 ? undefined : parsePublicKey(last ?? '');
}

export const writePublicKeyFile = ({ text, id }: PublicKey): string =>
  `untrusted comment: minisign public key ${id}\n${text}\n`;

function writePublicKey(id: Uint8Array, key: Uint8Array): PublicKey {
  return { text: Buffer.concat([ALGORITHM, id, key]).toString('base64'), id: formatKeyId(id) };
}

/** The key for `node:crypto`. */
export function openPublicKey({ text }: PublicKey): KeyObject {
  const raw = Buffer.from(text, 'base64').subarray(ALGORITHM.length + KEY_ID_BYTES);
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' });
}

/** A key pair that signs. */
export type SigningKey = { id: Uint8Array; secret: KeyObject; publicKey: PublicKey };

/** Why a secret key's file cannot be used. `password`: it needs one, or another one. */
export type SecretKeyFault = 'format' | 'password' | 'too_costly';

// The layout of minisign's file, as its manual gives it under "Secret key format".
const SIGNATURE_ALGORITHM = Buffer.from('Ed');
const WITH_PASSWORD = Buffer.from('Sc');
const WITHOUT_PASSWORD = Buffer.from([0, 0]);
const CHECKSUM_ALGORITHM = Buffer.from('B2');
const SALT_BYTES = 32;
const CHECKSUM_BYTES = 32;
const SECRET_BYTES = KEY_ID_BYTES + 2 * KEY_BYTES + CHECKSUM_BYTES;
const FILE_BYTES = 6 + SALT_BYTES + 16 + SECRET_BYTES;

/**
 * Costs of a new key's password, as libsodium counts them: 2^17 rounds, 128 MiB. minisign's own
 * default takes 1 GiB, which small machines do not have.
 */
const OPERATIONS = 4_194_304;
const MEMORY_BYTES = 128 * 1024 * 1024;
/** The most that a file may ask for: minisign's default. */
const MAX_OPERATIONS = 33_554_432;
const MAX_MEMORY_BYTES = 1024 * 1024 * 1024;
const BLOCK = 8;

type Costs = { operations: number; memory: number };

/**
 * The parameters of scrypt for libsodium's limits of operations and memory, by the rule that
 * libsodium states for `crypto_pwhash_scryptsalsa208sha256`.
 */
function scryptOptions({ operations, memory }: Costs): { N: number; r: number; p: number; maxmem: number } {
  const wanted = Math.max(operations, 32_768);
  const byOperations = wanted < memory / 32;
  const most = byOperations ? wanted / (BLOCK * 4) : memory / (BLOCK * 128);
  let log = 1;
  while (log < 63 && 2 ** log <= most / 2) log += 1;
  const p = byOperations ? 1 : Math.floor(Math.min(wanted / 4 / 2 ** log, 0x3fffffff) / BLOCK);
  return { N: 2 ** log, r: BLOCK, p: Math.max(p, 1), maxmem: 2 * 128 * BLOCK * 2 ** log };
}

/** The key stream that hides the secret part of a file. */
const hideWith = (password: string, salt: Uint8Array, costs: Costs): Buffer =>
  scryptSync(password, salt, SECRET_BYTES, scryptOptions(costs));

const combine = (data: Uint8Array, stream: Uint8Array): Buffer =>
  Buffer.from(data.map((byte, at) => byte ^ (stream[at] ?? 0)));

const makeChecksum = (id: Uint8Array, keys: Uint8Array): Buffer =>
  Buffer.from(new Bun.CryptoHasher('blake2b256').update(SIGNATURE_ALGORITHM).update(id).update(keys).digest());

function number64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** A new key pair with a random id. */
export function generateSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const id = randomBytes(KEY_ID_BYTES);
  return { id, secret: privateKey, publicKey: writePublicKey(id, exportRaw(publicKey, 'x')) };
}

function exportRaw(key: KeyObject, part: 'd' | 'x'): Buffer {
  return Buffer.from(key.export({ format: 'jwk' })[part] ?? '', 'base64url');
}

/** The text of a secret key's file. With an empty password it is not encrypted. */
export function writeSecretKeyFile({ id, secret }: SigningKey, password: string): string {
  const keys = Buffer.concat([exportRaw(secret, 'd'), exportRaw(secret, 'x')]);
  const clear = Buffer.concat([id, keys, makeChecksum(id, keys)]);
  const salt = randomBytes(SALT_BYTES);
  const costs = password === '' ? { operations: 0, memory: 0 } : { operations: OPERATIONS, memory: MEMORY_BYTES };
  const bytes = Buffer.concat([
    SIGNATURE_ALGORITHM,
    password === '' ? WITHOUT_PASSWORD : WITH_PASSWORD,
    CHECKSUM_ALGORITHM,
    salt,
    number64(costs.operations),
    number64(costs.memory),
    password === '' ? clear : combine(clear, hideWith(password, salt, costs)),
  ]);
  const comment = password === '' ? 'minisign secret key' : 'minisign encrypted secret key';
  return `untrusted comment: ${comment}\n${bytes.toString('base64')}\n`;
}

/** Whether the file of a secret key is encrypted; `undefined` if it is no such file. */
export function needsPassword(file: string): boolean | undefined {
  const bytes = decodeFile(file);
  return bytes?.subarray(2, 4).equals(WITH_PASSWORD);
}

function decodeFile(file: string): Buffer | undefined {
  if (file.length > 4096) return undefined;
  const [comment = '', text = '', ...others] = file.trim().split(/\r?\n/);
  const bytes =
    others.length === 0 && comment.startsWith('untrusted comment:') ? decodeBase64(text, FILE_BYTES) : undefined;
  if (!bytes?.subarray(0, 2).equals(SIGNATURE_ALGORITHM)) return undefined;
  const kdf = bytes.subarray(2, 4);
  const isKnown = kdf.equals(WITH_PASSWORD) || kdf.equals(WITHOUT_PASSWORD);
  return isKnown && bytes.subarray(4, 6).equals(CHECKSUM_ALGORITHM) ? bytes : undefined;
}

/** Reads the file of a secret key. `password` is not used for one without. */
export function readSecretKeyFile(file: string, password: string): Result<SigningKey, SecretKeyFault> {
  const bytes = decodeFile(file);
  if (!bytes) return err('format');
  const salt = bytes.subarray(6, 6 + SALT_BYTES);
  const rest = bytes.subarray(6 + SALT_BYTES);
  const costs = { operations: Number(rest.readBigUInt64LE(0)), memory: Number(rest.readBigUInt64LE(8)) };
  let clear: Buffer = rest.subarray(16);
  const isEncrypted = bytes.subarray(2, 4).equals(WITH_PASSWORD);
  if (isEncrypted) {
    if (password === '') return err('password');
    if (costs.operations > MAX_OPERATIONS || costs.memory > MAX_MEMORY_BYTES) return err('too_costly');
    clear = combine(clear, hideWith(password, salt, costs));
  }
  const id = clear.subarray(0, KEY_ID_BYTES);
  const keys = clear.subarray(KEY_ID_BYTES, KEY_ID_BYTES + 2 * KEY_BYTES);
  const checksum = clear.subarray(-CHECKSUM_BYTES);
  // minisign leaves the checksum of a key without password empty.
  const isUnchecked = !isEncrypted && checksum.every((byte) => byte === 0);
  if (!isUnchecked && !makeChecksum(id, keys).equals(checksum)) return err(isEncrypted ? 'password' : 'format');
  const [d, x] = [keys.subarray(0, KEY_BYTES), keys.subarray(KEY_BYTES)];
  const jwk = { kty: 'OKP', crv: 'Ed25519', d: d.toString('base64url'), x: x.toString('base64url') };
  try {
    const secret = createPrivateKey({ key: jwk, format: 'jwk' });
    const isPair = exportRaw(createPublicKey(secret), 'x').equals(x);
    return isPair ? ok({ id, secret, publicKey: writePublicKey(id, x) }) : err('format');
  } catch {
    return err('format');
  }
}
