import { isObject, parseJson } from '../../kernel/index.ts';
import { hashData, readSignature, signData, verifySignature } from './signature.ts';
import type { SigningKey } from './signing-keys.ts';
import { type PublicKey, parsePublicKey } from './signing-keys.ts';

/**
 * The hand-over of a marketplace from one signing key to the next: a statement, signed by the old
 * key, which permits it, and by the new one, which shows that its owner has it. The signed bytes
 * are those of `statement`.
 */
export type HandOverStep = { statement: string; from_signature: string; to_signature: string };

/** The content of a statement. `serial`: indexes from this one on are signed with `to`. */
type HandOver = { to: PublicKey; serial: number };

const VERSION = 1;
/** Keeps a statement from being taken for anything else that the same keys sign. */
const PURPOSE = 'taskgate marketplace hand-over';
const MAX_STEPS = 50;
export const MAX_HAND_OVER_BYTES = 128 * 1024;

/** States and signs a hand-over. */
export function signHandOver(from: SigningKey, to: SigningKey, serial: number): HandOverStep {
  const said = { purpose: PURPOSE, from: from.publicKey.text, to: to.publicKey.text, serial };
  const statement = JSON.stringify(said);
  const sign = (key: SigningKey) => signData(key, Buffer.from(statement), `hand-over from serial ${serial}`);
  return { statement, from_signature: sign(from), to_signature: sign(to) };
}

export const writeHandOvers = (steps: readonly HandOverStep[]): string =>
  `${JSON.stringify({ handOverVersion: VERSION, steps }, null, 2)}\n`;

/** The steps of a hand-over file, unchecked; `undefined` if it is no such file. */
export function readHandOvers(text: string): HandOverStep[] | undefined {
  const file = parseJson(text);
  if (!isObject(file) || file.handOverVersion !== VERSION || !Array.isArray(file.steps)) return undefined;
  if (file.steps.length > MAX_STEPS || !file.steps.every(isStep)) return undefined;
  return file.steps;
}

function isStep(value: unknown): value is HandOverStep {
  if (!isObject(value)) return false;
  return [value.statement, value.from_signature, value.to_signature].every((part) => typeof part === 'string');
}

/** The content of a step, if it is from the key `known` and both keys have signed it. */
function verifyStep(
  { statement, from_signature: old, to_signature: fresh }: HandOverStep,
  known: PublicKey,
): HandOver | undefined {
  const said = parseJson(statement);
  if (!isObject(said) || said.purpose !== PURPOSE || said.from !== known.text) return undefined;
  const { to, serial } = said;
  const toKey = typeof to === 'string' ? parsePublicKey(to) : undefined;
  if (!toKey || !Number.isSafeInteger(serial)) return undefined;
  const hash = hashData(Buffer.from(statement));
  const isSigned = (key: PublicKey, text: string): boolean => {
    const signature = readSignature(text);
    return signature !== undefined && verifySignature(key, hash, signature);
  };
  return isSigned(known, old) && isSigned(toKey, fresh) ? { to: toKey, serial: Number(serial) } : undefined;
}

/**
 * Follows signed steps from the key `from` to the one with the id `toId`. Each step must be newer
 * than the one before, and the first newer than `seenSerial`: an old hand-over cannot be replayed
 * after a later one, or after the key has signed newer indexes.
 */
export function followHandOvers(
  steps: readonly HandOverStep[],
  { from, toId, seenSerial }: { from: PublicKey; toId: string; seenSerial: number },
): { key: PublicKey; serial: number } | undefined {
  let key = from;
  let serial = seenSerial;
  for (const step of steps) {
    const found = verifyStep(step, key);
    if (!found || found.serial <= serial) continue;
    key = found.to;
    serial = found.serial;
    if (key.id === toId) return { key, serial };
  }
  return undefined;
}
