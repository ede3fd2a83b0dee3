import { constantTimeEqual, randomToken, sha256Hex } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { type CreatedRoot, hasRoot, type NewRoot } from './create-root.ts';

export interface Setup {
  /** Whether a root account is still to be made. */
  needed(): Promise<boolean>;
  /**
   * Makes the one-time token of this start and forgets an earlier one; the caller prints
   * `/setup#token=…`. `undefined` when a root account exists. Only the token's digest stays, in
   * memory.
   */
  openLink(): Promise<string | undefined>;
  /**
   * Makes the root account; no session. Rejects with `auth.setup_token_invalid`, or as creating a
   * root does.
   */
  complete(request: { token: string } & NewRoot): Promise<CreatedRoot>;
}

export function createSetup(deps: { store: Store; createRoot: (root: NewRoot) => Promise<CreatedRoot> }): Setup {
  const { store, createRoot } = deps;
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
      // Without a link there is either a root account already or nobody whom the terminal told the
      // token.
      if (tokenDigest === undefined || !constantTimeEqual(sha256Hex(token), tokenDigest)) {
        if (await hasRoot(store)) throw authErrors.setup_done();
        throw authErrors.setup_token_invalid();
      }
      const created = await createRoot(root);
      tokenDigest = undefined;
      return created;
    },
  };
}
