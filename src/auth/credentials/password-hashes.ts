import { type Logger, newUuid } from '../../kernel/index.ts';
import type { UserRecord } from '../../store/ports/index.ts';
import type { PasswordCost } from '../config.ts';
import { createBoundedSemaphore } from '../limits/limit-guesses.ts';

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

/** OWASP Password Storage: 19 MiB, two passes. About 40 ms on the benchmark machine. */
const OWASP_COST: PasswordCost = { memoryCost: 19_456, timeCost: 2 };

/**
 * Bun hashes off the event loop. This limit keeps a wave of sign-ins from taking all memory (19 MiB
 * each) and all cores.
 */
const CONCURRENT_HASHES = 4;

/** The hash of a random password that was thrown away, at the cost above. */
const DUMMY_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$2i6v5KmyFbCE7sj+4tU3xk9QCfpxFJvDYLnrpOa45bE$qji5fhVh/++M12u8DDc3utq0qoEcYy1fSZUJXjrwqtg';

const NO_OWNER: PasswordOwner = { id: 0, passwordHash: null };

export function createPasswordHashes(logger: Logger, passwordCost?: PasswordCost): PasswordHashes {
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

/**
 * Passwords that another gateway hashed with bcrypt. They are checked as that one checked them, and
 * rehashed at the first sign-in.
 */

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
/** Each step doubles the work: 14 takes a second. A stored hash must not stop the gateway. */
const MAX_COST = 14;
/** bcrypt reads no more; programs differ in what they do with the rest. */
const BCRYPT_BYTES = 72;

export const isBcrypt = (hash: string): boolean => hash.startsWith('$2');

/** Whether passwords can be checked against the hash at an acceptable cost. */
export function isImportableHash(hash: string): boolean {
  const cost = Number(BCRYPT.exec(hash)?.[1]);
  return cost >= 4 && cost <= MAX_COST;
}

/** Whether `password`, byte by byte as it was typed, is that of `hash`. */
async function matchesBcrypt(password: string, hash: string): Promise<boolean> {
  if (!isImportableHash(hash)) throw new Error('a bcrypt hash of unknown form or cost');
  // Bun digests longer ones first, which no other program does.
  if (Buffer.byteLength(password) > BCRYPT_BYTES || password.includes('\0')) return false;
  return Bun.password.verify(password, hash);
}
