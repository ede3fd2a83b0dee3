import type { IdentityRecord, ImportedKey, ImportedUser, PasskeyRecord } from '../store/ports/index.ts';

/** An account with all that belongs to it, as it will be written. */
export type PlannedUser = {
  sourceId: string;
  record: ImportedUser;
  /** One ledger line; none for 0. */
  balance: { grantKey: string; amount: number };
  /** The id, in the source, of who invited them; 0: nobody. */
  inviter: number;
  keys: Omit<ImportedKey, 'userId' | 'walletId'>[];
  identities: Pick<IdentityRecord, 'provider' | 'subject'>[];
  /** The authenticator's secret, sealed. */
  factor: { secretSealed: string } | undefined;
  passkeys: Omit<PasskeyRecord, 'id' | 'userId'>[];
};
