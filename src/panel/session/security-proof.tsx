import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';
import { ApiError } from '../api/api-error.ts';
import type { SecurityProof, SecurityProofRequirement, SecurityProofScope } from '../api/types.ts';
import { SecurityProofDialog, type SecurityProofRequest } from './security-proof-dialog.tsx';
import { useSession } from './session-context.tsx';

/**
 * Asks for a Security Proof for the header `X-Security-Proof`. Empty where this account needs none
 * for the scope; null when the user gave up.
 */
export type RequestSecurityProof = (scope: SecurityProofScope) => Promise<string | null>;

const SecurityProofContext = createContext<RequestSecurityProof>(async () => null);

/**
 * Lets the user confirm that it is he: by the strongest way that the account has, at most once in a
 * few minutes for each scope.
 */
export const useSecurityProof = (): RequestSecurityProof => useContext(SecurityProofContext);

/** A proof is good for five minutes; what is done with it must come before their end. */
const reuseMs = 4 * 60 * 1000;

/**
 * A dialog that closes gives the focus back 10 ms later (Mantine). Whoever opens the next one
 * sooner would remember a button of the closed one as the place to give the focus back to.
 */
const waitForFocusReturn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

type CachedProof = { token: string; accessToken: string; until: number };

export function SecurityProofProvider({ children }: { children: ReactNode }) {
  const session = useSession();
  const queries = useQueryClient();
  const cache = useRef(new Map<SecurityProofScope, CachedProof>());
  const settle = useRef<(proof: string | null) => void>(() => {});
  const [question, setQuestion] = useState<{ id: number; request: SecurityProofRequest } | null>(null);
  const [isOpen, setOpen] = useState(false);
  /** The question that was asked last: what comes of a former one changes nothing any more. */
  const latest = useRef(0);

  const cancel = useCallback((): void => {
    latest.current += 1;
    setOpen(false);
    settle.current(null);
  }, []);
  // Who leaves the page leaves what he was to confirm.
  const { pathname } = useLocation();
  useEffect(() => cancel, [pathname, cancel]);

  // A proof that was refused is not offered again: its account, session or methods have changed
  // meanwhile.
  useEffect(
    () =>
      queries.getMutationCache().subscribe(({ mutation }) => {
        const { error } = mutation?.state ?? {};
        if (error instanceof ApiError && error.code.startsWith('SECURITY_PROOF_')) cache.current.clear();
      }),
    [queries],
  );

  const findCached = useCallback(
    (scope: SecurityProofScope): string | null => {
      const proof = cache.current.get(scope);
      const isSameSession = proof?.accessToken === session.read().bundle?.access_token;
      return proof !== undefined && isSameSession && proof.until > performance.now() ? proof.token : null;
    },
    [session],
  );

  const requestProof = useCallback<RequestSecurityProof>(
    async (scope) => {
      const known = findCached(scope);
      if (known !== null) return known;
      cancel();
      const id = latest.current;
      const next: SecurityProofRequest = { scope, methods: [], error: null };
      try {
        const need = await session.send<SecurityProofRequirement>({
          method: 'GET',
          path: `/api/verify?scope=${scope}`,
        });
        if (!need.needed) return '';
        next.methods = need.methods;
      } catch (error) {
        next.error = error;
      }
      await waitForFocusReturn();
      if (id !== latest.current) return null;
      setQuestion({ id, request: next });
      setOpen(true);
      return new Promise((resolve) => {
        settle.current = resolve;
      });
    },
    [session, findCached, cancel],
  );

  const settleRequest = (id: number | undefined, proof: SecurityProof | null): void => {
    if (proof !== null) {
      cache.current.set(proof.scope, {
        token: proof.proof_token,
        accessToken: session.read().bundle?.access_token ?? '',
        until: performance.now() + reuseMs,
      });
    }
    if (id !== latest.current) return;
    setOpen(false);
    settle.current(proof?.proof_token ?? null);
  };

  return (
    <SecurityProofContext value={requestProof}>
      {children}
      {/* It is there before it opens: only then it knows where the focus goes afterwards. */}
      <SecurityProofDialog
        question={question}
        isOpen={isOpen}
        onProof={(proof) => settleRequest(question?.id, proof)}
      />
    </SecurityProofContext>
  );
}
