import { type Result, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { MarketFile, MarketIndex, MarketSource, ReadFault, ReadMarketFile } from '../market-index/types.ts';
import { followHandOvers, readHandOvers } from '../signing/rotate-signing-key.ts';
import { hashData, readSignature, type Signature, type SignedHash, verifySignature } from '../signing/signature.ts';
import { type PublicKey, parsePublicKey } from '../signing/signing-keys.ts';
import { indexLocation } from './fetch-file.ts';
import type { MarketMemory } from './market-memory.ts';

/**
 * Why a signed source is refused: another key has signed its index; it has no signature any more;
 * index and signature do not belong together; an older index than one that was seen; no serial or
 * end.
 */
export type TrustFault = 'key_changed' | 'signature_missing' | 'tampered' | 'rolled_back' | 'undated';

/** A key that was seen. Without its text it is known by its id alone, and cannot be accepted. */
export type SeenKey = { id: string; text?: string };

export type MarketTrust =
  | { state: 'unsigned' }
  | { state: 'signed'; key: PublicKey; serial: number; expiresAt: number }
  | { state: 'refused'; reason: TrustFault; known: PublicKey; seen: SeenKey | undefined; message: string };

export type PinReason = 'first_use' | 'hand_over';

/**
 * Stores the key of a source whose stored key is still that of `source`. False if it is not: an
 * administrator was faster.
 */
export type PinMarketKey = (source: MarketSource, key: PublicKey, reason: PinReason) => Promise<boolean>;

export type TrustDeps = { readFile: ReadMarketFile; memory: MarketMemory; pin: PinMarketKey };

/** An index with the bytes that its signature covers. */
type FetchedIndex = { bytes: Uint8Array; index: Result<MarketIndex, Sentence> };

/** `error`: nothing could be checked. */
export type CheckedTrust = { trust: MarketTrust; error?: undefined } | { error: Sentence; trust?: undefined };

/** The URL of a file that stands beside an index, under its name with an ending. */
function besideIndex(source: MarketSource, ending: string): string {
  const url = indexLocation(source);
  url.pathname += ending;
  return url.href;
}

export const SIGNATURE_ENDING = '.minisig';
export const HAND_OVER_ENDING = '.handover';

/**
 * Checks the signature of an index: by the key that the source is pinned to, or, at its first use,
 * by the one that the index names, which is then pinned. A source without either is unsigned. A
 * signed hand-over moves the pin to a new key.
 */
export async function checkTrust(deps: TrustDeps, source: MarketSource, fetched: FetchedIndex): Promise<CheckedTrust> {
  const pinned = source.publicKey === undefined ? undefined : parsePublicKey(source.publicKey);
  const declared = fetched.index.ok ? fetched.index.value.publicKey : undefined;
  const known = pinned ?? declared;
  if (!known) return { trust: { state: 'unsigned' } };
  const text = await readText(deps, source, { ending: SIGNATURE_ENDING, what: 'signature' });
  if (!text.ok && !text.error.isAbsent)
    return { error: sentence('market.signature_unread', { fault: toSentence(text.error) }) };
  const signature = text.ok ? readSignature(text.value) : undefined;
  const refuse = (reason: TrustFault, seen: SeenKey | undefined, why: string): CheckedTrust => {
    const names = `The known key is ${nameKey(known)}; seen: ${seen ? nameKey(seen) : 'none'}.`;
    return { trust: { state: 'refused', reason, known, seen, message: `${why} ${names}` } };
  };
  if (!signature) {
    const why = text.ok ? 'The file of the signature is not one of minisign.' : 'The index has no signature.';
    return refuse('signature_missing', undefined, why);
  }
  const hash = hashData(fetched.bytes);
  const seen = seenKey(signature, hash, declared);
  const handedOver = signature.keyId === known.id ? undefined : await findHandOver(deps, source, { known, signature });
  const key = handedOver?.key ?? known;
  if (signature.keyId !== key.id) return refuse('key_changed', seen, 'The index is signed with another key.');
  if (!verifySignature(key, hash, signature)) {
    // The same id can be given to another key.
    if (seen.text !== undefined && seen.text !== key.text)
      return refuse('key_changed', seen, 'The index is signed with another key.');
    return refuse('tampered', { id: signature.keyId }, 'The index is not what its key has signed.');
  }
  // What follows reads the index, which the key has signed.
  if (!fetched.index.ok) return { error: fetched.index.error };
  const { serial, expiresAt } = fetched.index.value;
  if (serial === undefined || expiresAt === undefined)
    return refuse('undated', key, 'A signed index must have "serial" and "expires_at".');
  const isOld = serial < (handedOver?.serial ?? 0) || !(await deps.memory.advance(source, key.text, serial));
  if (isOld) return refuse('rolled_back', key, `The index is older than one that was seen: its serial is ${serial}.`);
  if (key.text !== pinned?.text && !(await deps.pin(source, key, pinned ? 'hand_over' : 'first_use')))
    return { error: sentence('market.changed') };
  return { trust: { state: 'signed', key, serial, expiresAt } };
}

const nameKey = ({ id, text }: SeenKey): string => (text === undefined ? id : `${id} (${text})`);

/** The key that has signed: with its text if the index names it and the signature is its. */
function seenKey(signature: Signature, hash: SignedHash, declared: PublicKey | undefined): SeenKey {
  return declared && verifySignature(declared, hash, signature) ? declared : { id: signature.keyId };
}

async function findHandOver(
  deps: TrustDeps,
  source: MarketSource,
  { known, signature }: { known: PublicKey; signature: Signature },
) {
  const text = await readText(deps, source, { ending: HAND_OVER_ENDING, what: 'hand-over' });
  const steps = text.ok ? readHandOvers(text.value) : undefined;
  if (!steps) return undefined;
  const seenSerial = await deps.memory.highestSerial(source, known.text);
  return followHandOvers(steps, { from: known, toId: signature.keyId, seenSerial });
}

async function readText(
  { readFile }: TrustDeps,
  source: MarketSource,
  { ending, what }: { ending: string; what: MarketFile },
): Promise<Result<string, ReadFault>> {
  const bytes = await readFile(source, besideIndex(source, ending), what);
  return bytes.ok ? { ok: true, value: Buffer.from(bytes.value).toString('utf8') } : bytes;
}
