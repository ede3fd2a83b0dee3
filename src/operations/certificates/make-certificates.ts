import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { der } from './der.ts';
import type { Certificate } from './watch-certificate.ts';

const ECDSA_WITH_SHA256 = der.sequence(der.objectIdentifier('1.2.840.10045.4.3.2'));
const EXTENSION_REQUEST = der.objectIdentifier('1.2.840.113549.1.9.14');
const SUBJECT_ALT_NAME = der.objectIdentifier('2.5.29.17');
const COMMON_NAME = der.objectIdentifier('2.5.4.3');
/** RFC 8737: proves the control of a name inside a TLS handshake. */
const ACME_IDENTIFIER = der.objectIdentifier('1.3.6.1.5.5.7.1.31');
const DAY_MS = 86_400_000;
/** Machines' clocks differ. */
const BACKDATE_MS = DAY_MS;

/** An elliptic key on P-256: every client accepts it, and so does every authority. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** A certificate signing request (PKCS #10) for these names, in DER. */
export function createSigningRequest(names: readonly string[], key: KeyObject): Buffer {
  const request = der.sequence(
    der.integer(Buffer.from([0])),
    der.sequence(),
    toPublicKey(key),
    der.context(0, der.sequence(EXTENSION_REQUEST, der.set(der.sequence(alternativeNames(names))))),
  );
  return signed(request, key);
}

/**
 * A certificate that signs itself: what is served before the first one comes, or with
 * `keyAuthorization` the answer to a challenge of TLS-ALPN-01.
 */
export function createSelfSigned(
  names: readonly string[],
  { nowMs, days, keyAuthorization }: { nowMs: number; days: number; keyAuthorization?: string },
): Certificate {
  const key = newKey();
  const name = der.sequence(der.set(der.sequence(COMMON_NAME, der.utf8('Taskgate, self-signed'))));
  const extensions = [alternativeNames(names)];
  if (keyAuthorization !== undefined) {
    const digest = createHash('sha256').update(keyAuthorization).digest();
    extensions.push(der.sequence(ACME_IDENTIFIER, der.true(), der.octetString(der.octetString(digest))));
  }
  const certificate = der.sequence(
    der.context(0, der.integer(Buffer.from([2]))),
    der.integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    name,
    der.sequence(der.utcTime(nowMs - BACKDATE_MS), der.utcTime(nowMs + days * DAY_MS)),
    name,
    toPublicKey(key),
    der.context(3, der.sequence(...extensions)),
  );
  const lines =
    signed(certificate, key)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: toPem(key),
  };
}

const toPublicKey = (key: KeyObject): Buffer => createPublicKey(key).export({ type: 'spki', format: 'der' });

const alternativeNames = (names: readonly string[]): Buffer =>
  der.sequence(
    SUBJECT_ALT_NAME,
    der.octetString(der.sequence(...names.map((name) => der.implicit(2, Buffer.from(name))))),
  );

const signed = (content: Buffer, key: KeyObject): Buffer =>
  der.sequence(content, ECDSA_WITH_SHA256, der.bitString(sign('sha256', content, key)));
