import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';
import { ApiError } from '../api/api-error.ts';
import type { Proof, ProofNeed, ProofScope } from '../api/types.ts';
import { type ProofAsk, ProofDialog } from './security-proof-dialog.tsx';
import { useSession } from './session-context.tsx';

/**
 * Asks for a Security Proof for the header `X-Security-Proof`. Empty where this account needs none
 * for the scope; null when the user gave up.
 */
export type AskProof = (scope: ProofScope) => Promise<string | null>;

const ProofContext = createContext<AskProof>(async () => null);

/**
 * Lets the user confirm that it is he: by the strongest way that the account has, at most once in a
 * few minutes for each scope.
 */
export const useProof = (): AskProof => useContext(ProofContext);

/** A proof is good for five minutes; what is done with it must come before their end. */
const keptMs = 4 * 60 * 1000;

/**
 * A dialog that closes gives the focus back 10 ms later (Mantine). Whoever opens the next one
 * sooner would remember a button of the closed one as the place to give the focus back to.
 */
const focusReturned = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

type KeptProof = { token: string; accessToken: string; until: number };

export function ProofProvider({ children }: { children: ReactNode }) {
  const session = useSession();
  const queries = useQueryClient();
  const kept = useRef(new Map<ProofScope, KeptProof>());
  const settle = useRef<(proof: string | null) => void>(() => {});
  const [question, setQuestion] = useState<{ id: number; ask: ProofAsk } | null>(null);
  const [isOpen, setOpen] = useState(false);
  /** The question that was asked last: what comes of a former one changes nothing any more. */
  const latest = useRef(0);

  const giveUp = useCallback((): void => {
    latest.current += 1;
    setOpen(false);
    settle.current(null);
  }, []);
  // Who leaves the page leaves what he was to confirm.
  const { pathname } = useLocation();
  useEffect(() => giveUp, [pathname, giveUp]);

  // A proof that was refused is not offered again: its account, session or methods have changed
  // meanwhile.
  useEffect(
    () =>
      queries.getMutationCache().subscribe(({ mutation }) => {
        const { error } = mutation?.state ?? {};
        if (error instanceof ApiError && error.code.startsWith('SECURITY_PROOF_')) kept.current.clear();
      }),
    [queries],
  );

  const find = useCallback(
    (scope: ProofScope): string | null => {
      const proof = kept.current.get(scope);
      const isSameSession = proof?.accessToken === session.read().bundle?.access_token;
      return proof !== undefined && isSameSession && proof.until > performance.now() ? proof.token : null;
    },
    [session],
  );

  const ask = useCallback<AskProof>(
    async (scope) => {
      const known = find(scope);
      if (known !== null) return known;
      giveUp();
      const id = latest.current;
      const next: ProofAsk = { scope, methods: [], error: null };
      try {
        const need = await session.send<ProofNeed>({ method: 'GET', path: `/api/verify?scope=${scope}` });
        if (!need.needed) return '';
        next.methods = need.methods;
      } catch (error) {
        next.error = error;
      }
      await focusReturned();
      if (id !== latest.current) return null;
      setQuestion({ id, ask: next });
      setOpen(true);
      return new Promise((resolve) => {
        settle.current = resolve;
      });
    },
    [session, find, giveUp],
  );

  const answer = (id: number | undefined, proof: Proof | null): void => {
    if (proof !== null) {
      kept.current.set(proof.scope, {
        token: proof.proof_token,
        accessToken: session.read().bundle?.access_token ?? '',
        until: performance.now() + keptMs,
      });
    }
    if (id !== latest.current) return;
    setOpen(false);
    settle.current(proof?.proof_token ?? null);
  };

  return (
    <ProofContext value={ask}>
      {children}
      {/* It is there before it opens: only then it knows where the focus goes afterwards. */}
      <ProofDialog question={question} isOpen={isOpen} onAnswer={(proof) => answer(question?.id, proof)} />
    </ProofContext>
  );
}
