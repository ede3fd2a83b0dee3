import { constantTimeEqual, randomToken, sha256Hex } from '../../kernel/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { type CreatedRoot, createRoot, hasRoot, type NewRoot } from './create-root.ts';

export interface Setup {
  /** Whether there is no root account yet. */
  needed(): Promise<boolean>;
  /**
   * Makes the one-time token of this start and invalidates an earlier one. The caller prints
   * `/setup#token=…`. `undefined` when a root account exists. Only the token's digest stays, in
   * memory.
   */
  openLink(): Promise<string | undefined>;
  /**
   * Creates the root account; opens no session.
   *
   * @throws `auth.setup_token_invalid`, and what `createRoot` throws.
   */
  complete(request: { token: string } & NewRoot): Promise<CreatedRoot>;
}

export function createSetup(ctx: AuthContext): Setup {
  const { store } = ctx;
  let tokenDigest: string | undefined;

  return {
    needed: async () => !(await hasRoot(store)),
    async openLink() {
      if (await hasRoot(store)) return undefined;
      const token = randomToken(32);
      tokenDigest = sha256Hex(token);
      return token;
    },
    async complete({ token, ...root }) {
      // No digest means that a root account exists, or that no link was printed.
      if (tokenDigest === undefined || !constantTimeEqual(sha256Hex(token), tokenDigest)) {
        if (await hasRoot(store)) throw authErrors.setup_done();
        throw authErrors.setup_token_invalid();
      }
      const created = await createRoot(ctx, root);
      tokenDigest = undefined;
      return created;
    },
  };
}
