import type { Logger } from '../../kernel/index.ts';
import type { UserRecord } from '../../store/ports/index.ts';
import { createQueueLimit } from '../limits/limit-password-hashing.ts';

export interface PasswordHashes {
  /** argon2id in PHC form. */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` is that of `owner`. Without an owner, or one without a password, it does the
   * same work and says false, so that the time of the answer does not tell which it was. The same
   * for a stored hash that is none, which is logged.
   */
  verify(password: string, owner: PasswordOwner | undefined): Promise<boolean>;
}

type PasswordOwner = Pick<UserRecord, 'id' | 'passwordHash'>;

/**
 * OWASP Password Storage: argon2id with 19 MiB, two passes, one lane. About 40 ms on the machine of
 * the benchmarks.
 */
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 } as const;

/**
 * Bun hashes off the event loop; the bound keeps a wave of logins from taking all memory (19 MiB
 * each) and all cores.
 */
const AT_ONCE = 4;

/** The hash of a random password that nobody kept, made with the parameters above. */
const NOBODYS_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$2i6v5KmyFbCE7sj+4tU3xk9QCfpxFJvDYLnrpOa45bE$qji5fhVh/++M12u8DDc3utq0qoEcYy1fSZUJXjrwqtg';

const NOBODY: PasswordOwner = { id: 0, passwordHash: null };

export function createPasswordHashes({ logger }: { logger: Logger }): PasswordHashes {
  const gate = createQueueLimit(AT_ONCE);

  async function matches(password: string, { id, passwordHash }: PasswordOwner): Promise<boolean> {
    if (passwordHash) {
      try {
        return await Bun.password.verify(password, passwordHash);
      } catch (error) {
        // The reason names the form alone; nothing was computed yet.
        logger.error({ userId: id, err: error }, 'the stored password hash cannot be read: set a new password');
      }
    }
    await Bun.password.verify(password, NOBODYS_HASH);
    return false;
  }

  return {
    hash: (password) => gate(() => Bun.password.hash(password.normalize('NFC'), ARGON2ID)),
    verify: (password, owner) => gate(() => matches(password.normalize('NFC'), owner ?? NOBODY)),
  };
}
