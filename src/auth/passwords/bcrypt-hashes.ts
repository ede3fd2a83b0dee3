/**
 * Passwords that another gateway hashed with bcrypt. They are checked as that one checked them, and
 * hashed anew at the first sign-in.
 */

const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
/** Each step doubles the work: 14 takes a second. A stored hash must not stop the gateway. */
const MAX_COST = 14;
/** bcrypt reads no more; programs differ in what they do with the rest. */
export const BCRYPT_BYTES = 72;

export const isBcrypt = (hash: string): boolean => hash.startsWith('$2');

/** Whether passwords can be checked against the hash at a bearable cost. */
export function isImportableHash(hash: string): boolean {
  const cost = Number(BCRYPT.exec(hash)?.[1]);
  return cost >= 4 && cost <= MAX_COST;
}

/** Whether `password`, byte by byte as it was typed, is that of `hash`. */
export async function matchesBcrypt(password: string, hash: string): Promise<boolean> {
  if (!isImportableHash(hash)) throw new Error('a bcrypt hash of unknown form or cost');
  // Bun digests longer ones first, which no other program does.
  if (Buffer.byteLength(password) > BCRYPT_BYTES || password.includes('\0')) return false;
  return Bun.password.verify(password, hash);
}
