import { type Logger, newUuid } from '../../kernel/index.ts';
import type { UserRecord } from '../../store/ports/index.ts';
import { createBoundedSemaphore } from '../limits/bounded-semaphore.ts';
import { isBcrypt, matchesBcrypt } from './bcrypt-hashes.ts';

export interface PasswordHashes {
  /** argon2id in PHC form. */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` is that of `owner`. Without an owner, or for an owner without a password, it
   * does the same work and gives false, so that the timing reveals nothing. The same goes for a
   * stored hash that cannot be read, which is logged.
   */
  verify(password: string, owner: PasswordOwner | undefined): Promise<boolean>;
}

type PasswordOwner = Pick<UserRecord, 'id' | 'passwordHash'>;

/** argon2id's memory in KiB, and passes; parallelism is one. */
export type PasswordCost = { memoryCost: number; timeCost: number };

/** OWASP Password Storage: 19 MiB, two passes. About 40 ms on the benchmark machine. */
const OWASP_COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 };

/**
 * Bun hashes off the event loop. This limit keeps a wave of logins from taking all memory (19 MiB
 * each) and all cores.
 */
const CONCURRENT_HASHES = 4;

/** The hash of a random password that was thrown away, at the cost above. */
const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$2i6v5KmyFbCE7sj+4tU3xk9QCfpxFJvDYLnrpOa45bE$qji5fhVh/++M12u8DDc3utq0qoEcYy1fSZUJXjrwqtg';

const NO_OWNER: PasswordOwner = { id: 0, passwordHash: null };

export function createPasswordHashes(deps: { logger: Logger; passwordCost?: PasswordCost }): PasswordHashes {
  const { logger, passwordCost } = deps;
  const algorithm = { algorithm: 'argon2id', ...(passwordCost ?? OWASP_COST) } as const;
  const dummyHash = passwordCost ? Bun.password.hashSync(newUuid(), algorithm) : DUMMY_HASH;
  const semaphore = createBoundedSemaphore(CONCURRENT_HASHES);

  async function matches(password: string, { id, passwordHash }: PasswordOwner): Promise<boolean> {
    if (passwordHash) {
      try {
        return isBcrypt(passwordHash)
          ? await matchesBcrypt(password, passwordHash)
          : await Bun.password.verify(password.normalize('NFC'), passwordHash);
      } catch (error) {
        // The error names only the format; no work was done yet, so the dummy hash follows below.
        logger.error(
          { userId: id, err: error },
          'the stored password hash of this user cannot be read: set a new password',
        );
      }
    }
    await Bun.password.verify(password, dummyHash);
    return false;
  }

  return {
    hash: (password) => semaphore(() => Bun.password.hash(password.normalize('NFC'), algorithm)),
    verify: (password, owner) => semaphore(() => matches(password, owner ?? NO_OWNER)),
  };
}
