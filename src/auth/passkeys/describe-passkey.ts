import type { PasskeyRecord } from '../../store/ports/index.ts';

/** A passkey as its owner sees it. Times are Unix seconds. */
export type PasskeyView = {
  id: number;
  name: string;
  created_at: number;
  /** 0: never. */
  last_used_at: number;
  /** Synchronised between devices; false: bound to one. */
  backed_up: boolean;
  /** Made for the present relying party; others cannot be used. */
  usable: boolean;
};

export const describePasskey = (passkey: PasskeyRecord, rpId: string): PasskeyView => ({
  id: passkey.id,
  name: passkey.name,
  created_at: passkey.createdAt,
  last_used_at: passkey.lastUsedAt,
  backed_up: passkey.backedUp,
  usable: passkey.rpId === rpId,
});

/** The passkey as an entry of a ceremony's options. */
export const describeCredential = ({ credentialId, transports }: PasskeyRecord) => ({ id: credentialId, transports });
