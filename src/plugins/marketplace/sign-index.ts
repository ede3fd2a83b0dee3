import { err, ok, type Result } from '../../kernel/index.ts';
import { readHandOvers, signHandOver, writeHandOvers } from '../signing/rotate-signing-key.ts';
import { hashData, readSignature, signData, verifySignature } from '../signing/signature.ts';
import type { PublicKey, SigningKey } from '../signing/signing-keys.ts';
import { HAND_OVER_ENDING, SIGNATURE_ENDING } from './check-trust.ts';

/** A file beside the index, by the ending of its name. */
export type PublishedFile = { ending: string; text: string };

export type IndexToSign = {
  text: string;
  /** The name of the index's file. */
  file: string;
  serial: number;
  key: SigningKey;
  /** The key that the index before names, if it is another one. */
  keyBefore: PublicKey | undefined;
  /** The key that hands over to `key`. */
  handOverFrom: SigningKey | undefined;
  /** In unix seconds. */
  now: number;
  /** A file that is there already, by its ending. */
  read: (ending: string) => string | undefined;
};

/**
 * The signature of an index, and a hand-over where its key changes: the files that must be written,
 * none if they are there already. The error is a sentence.
 */
export function signIndex(index: IndexToSign): Result<PublishedFile[], string> {
  const { text, file, serial, key, now, read } = index;
  const files: PublishedFile[] = [];
  const handOver = planHandOver(index);
  if (!handOver.ok) return handOver;
  if (handOver.value) files.push({ ending: HAND_OVER_ENDING, text: handOver.value });
  const data = Buffer.from(text);
  const written = readSignature(read(SIGNATURE_ENDING) ?? '');
  if (!written || !verifySignature(key.publicKey, hashData(data), written)) {
    const comment = `timestamp:${now}\tfile:${file}\thashed\tserial:${serial}`;
    files.push({ ending: SIGNATURE_ENDING, text: signData(key, data, comment) });
  }
  return ok(files);
}

function planHandOver({ serial, key, keyBefore, handOverFrom, read }: IndexToSign): Result<string | undefined, string> {
  const changes = keyBefore !== undefined && keyBefore.text !== key.publicKey.text;
  if (!changes) {
    return handOverFrom
      ? err('There is nothing to hand over: no index is there that another key has signed.')
      : ok(undefined);
  }
  if (!handOverFrom) {
    return err(
      `The index is signed with the key ${keyBefore.id}, and gateways that know it would refuse the key ${key.publicKey.id}. Name the old key's file with --hand-over.`,
    );
  }
  if (handOverFrom.publicKey.text !== keyBefore.text)
    return err(`The index is signed with the key ${keyBefore.id}, not with ${handOverFrom.publicKey.id}.`);
  const before = read(HAND_OVER_ENDING);
  const steps = before === undefined ? [] : readHandOvers(before);
  if (!steps) return err(`The file with the ending ${HAND_OVER_ENDING} is not one of hand-overs.`);
  return ok(writeHandOvers([...steps, signHandOver(handOverFrom, key, serial)]));
}
