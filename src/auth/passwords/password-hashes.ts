import { createGate } from '../limits/gate.ts';

export interface PasswordHashes {
  /** argon2id in PHC form. */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` belongs to `hash`. Without a hash (no such user, no password) it does the same work and says false, so
   * that the time of the answer does not tell which it was.
   */
  verify(password: string, hash: string | null | undefined): Promise<boolean>;
}

/** OWASP Password Storage: argon2id with 19 MiB, two passes, one lane. About 40 ms on the machine of the benchmarks. */
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const;

/** Bun hashes off the event loop; the bound keeps a wave of logins from taking all memory (19 MiB each) and all cores. */
const AT_ONCE = 4;

/** The hash of a random password that nobody kept, made with the parameters above. */
const NOBODYS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$2i6v5KmyFbCE7sj+4tU3xk9QCfpxFJvDYLnrpOa45bE$qji5fhVh/++M12u8DDc3utq0qoEcYy1fSZUJXjrwqtg';

export function createPasswordHashes(): PasswordHashes {
  const gate = createGate(AT_ONCE);
  return {
    hash: (password) => gate(() => Bun.password.hash(password.normalize('NFC'), ARGON2ID)),
    async verify(password, hash) {
      const matches = await gate(() => Bun.password.verify(password.normalize('NFC'), hash ?? NOBODYS_HASH));
      return matches && typeof hash === 'string';
    },
  };
}
