export const CHEAP_COST = { memoryCost: 8, timeCost: 1 };

/**
 * A password's hash of the gateway's kind whose verification costs next to nothing: a hash tells
 * what it costs. For users that tests write into the database; what is compared in time takes the
 * gateway's own hashes.
 */
export const cheapHash = (password: string): string =>
  Bun.password.hashSync(password, { algorithm: 'argon2id', ...CHEAP_COST });

/** The password of users that tests make. */
export const PASSWORD = 'correct horse battery';
