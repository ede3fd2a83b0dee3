/** An authenticator with its browser, in software: ES256 keys that live as long as the object. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { AssertionCredential, RegistrationCredential } from '../../src/auth/passkeys/passkey-challenge.ts';

const base64url = (data: Uint8Array | string): string => Buffer.from(data).toString('base64url');
const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();

type Cbor = number | string | Uint8Array | Cbor[] | Map<number | string, Cbor>;

/** The subset of CBOR that WebAuthn needs. */
function encodeCbor(value: Cbor): Buffer {
  const head = (major: number, length: number): Buffer => {
    if (length < 24) return Buffer.from([(major << 5) | length]);
    if (length < 256) return Buffer.from([(major << 5) | 24, length]);
    return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
  };
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
  return Buffer.concat([head(5, value.size), ...[...value].flat().map((part) => encodeCbor(part as Cbor))]);
}

const FLAG = { present: 1, verified: 4, backupEligible: 8, backedUp: 16, attested: 64 };

/** How a ceremony may deviate from an honest one. */
export type Deviation = {
  challenge?: string;
  origin?: string;
  rpId?: string;
  type?: string;
  crossOrigin?: boolean;
  present?: boolean;
  verified?: boolean;
  counter?: number;
  userHandle?: string | null;
  /** COSE algorithm that the new key claims. */
  algorithm?: number;
  attestation?: { fmt: string; attStmt: Map<string, Cbor> };
  /** Signs with another key than the registered one. */
  forge?: boolean;
  credentialId?: string;
};

type Key = { id: Buffer; privateKey: KeyObject; publicKey: KeyObject; userHandle: string };

export class SoftwareAuthenticator {
  readonly keys: Key[] = [];
  counter = 0;

  constructor(
    readonly setup: {
      origin: string;
      rpId: string;
      /** The person is verified, not just present. */
      verifies?: boolean;
      counts?: boolean;
      backedUp?: boolean;
    },
  ) {}

  create(
    options: { challenge: string; user: { id: string }; rp: { id?: string } },
    deviation: Deviation = {},
  ): RegistrationCredential {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key: Key = { id: randomBytes(32), privateKey, publicKey, userHandle: options.user.id };
    this.keys.push(key);
    const { x, y } = publicKey.export({ format: 'jwk' });
    const cose = new Map<number, Cbor>([
      [1, 2],
      [3, deviation.algorithm ?? -7],
      [-1, 1],
      [-2, Buffer.from(x ?? '', 'base64url')],
      [-3, Buffer.from(y ?? '', 'base64url')],
    ]);
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, key.id.length]), key.id, encodeCbor(cose)]);
    const authData = Buffer.concat([this.authenticatorData(deviation, FLAG.attested), attested]);
    const { fmt, attStmt } = deviation.attestation ?? { fmt: 'none', attStmt: new Map<string, Cbor>() };
    const object = new Map<string, Cbor>([
      ['fmt', fmt],
      ['attStmt', attStmt],
      ['authData', authData],
    ]);
    const id = deviation.credentialId ?? base64url(key.id);
    return {
      id,
      rawId: base64url(key.id),
      type: 'public-key',
      response: {
        clientDataJSON: this.clientData('webauthn.create', options.challenge, deviation),
        attestationObject: base64url(encodeCbor(object)),
        transports: ['internal', 'made-up'],
      },
    };
  }

  /** Uses the newest key, unless another is given. */
  get(options: { challenge: string }, deviation: Deviation = {}, key = this.keys.at(-1)): AssertionCredential {
    if (!key) throw new Error('the authenticator holds no key');
    const data = this.authenticatorData(deviation, 0);
    const clientDataJSON = this.clientData('webauthn.get', options.challenge, deviation);
    const signed = Buffer.concat([data, sha256(Buffer.from(clientDataJSON, 'base64url'))]);
    const privateKey = deviation.forge ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : key.privateKey;
    const id = deviation.credentialId ?? base64url(key.id);
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON,
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', signed, privateKey)),
        userHandle: deviation.userHandle === undefined ? key.userHandle : deviation.userHandle,
      },
    };
  }

  private authenticatorData(deviation: Deviation, flags: number): Buffer {
    if (this.setup.counts) this.counter += 1;
    const set =
      flags |
      ((deviation.present ?? true) ? FLAG.present : 0) |
      ((deviation.verified ?? this.setup.verifies ?? true) ? FLAG.verified : 0) |
      (this.setup.backedUp ? FLAG.backupEligible | FLAG.backedUp : 0);
    const tail = Buffer.alloc(5);
    tail.writeUInt8(set, 0);
    tail.writeUInt32BE(deviation.counter ?? this.counter, 1);
    return Buffer.concat([sha256(deviation.rpId ?? this.setup.rpId), tail]);
  }

  private clientData(type: string, challenge: string, deviation: Deviation): string {
    return base64url(
      JSON.stringify({
        type: deviation.type ?? type,
        challenge: deviation.challenge ?? challenge,
        origin: deviation.origin ?? this.setup.origin,
        crossOrigin: deviation.crossOrigin ?? false,
      }),
    );
  }
}
