import type { UseMutationResult } from '@tanstack/react-query';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { SecurityProof, SecurityProofRequirement, SecurityProofScope } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { type UseApiMutationOptions, useApiMutation } from '../../session/use-api.ts';
import { type ProofPurpose, SecurityProofDialog, type SecurityProofRequest } from './security-proof-dialog.tsx';

/**
 * Requests a Security Proof for the `X-Security-Proof` header. Resolves to an empty string if the
 * account needs none for the scope, and to null if the user cancels.
 */
type RequestSecurityProof = (scope: SecurityProofScope, purpose?: ProofPurpose) => Promise<string | null>;

const SecurityProofContext = createContext<RequestSecurityProof>(async () => null);

/**
 * Asks users to confirm their identity with the strongest method of the account, at most once in
 * four minutes per scope.
 */
export const useSecurityProof = (): RequestSecurityProof => useContext(SecurityProofContext);

/** A proof is valid for five minutes; the request that uses it must be sent before it expires. */
const reuseMs = 4 * 60 * 1000;

/**
 * A closing Mantine dialog returns the focus after 10 ms. A dialog opened earlier would later
 * return the focus to a button of the closed one.
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
  /** The id of the latest request: outcomes of earlier ones are ignored. */
  const latest = useRef(0);

  const cancel = useCallback((): void => {
    latest.current += 1;
    setOpen(false);
    settle.current(null);
  }, []);
  // Leaving the page cancels the request.
  const { pathname } = useLocation();
  useEffect(() => cancel, [pathname, cancel]);

  // A rejected proof is not reused: the account, session or methods have changed.
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
    async (scope, purpose) => {
      const known = findCached(scope);
      if (known !== null) return known;
      cancel();
      const id = latest.current;
      const next: SecurityProofRequest = { scope, methods: [], error: null, purpose };
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
      {/* Mounted before it opens, so that it knows where to return the focus. */}
      <SecurityProofDialog
        question={question}
        isOpen={isOpen}
        onProof={(proof) => settleRequest(question?.id, proof)}
      />
    </SecurityProofContext>
  );
}

type MutationWithProofOptions<Variables, T> = UseApiMutationOptions<Variables, T> & {
  scope: SecurityProofScope;
  /** False if this change needs no proof; by default all do. */
  needsProof?(variables: Variables): boolean;
};

type MutationWithProof<Variables, T> = Pick<
  UseMutationResult<T, Error, Variables>,
  'data' | 'error' | 'isError' | 'reset' | 'variables'
> & {
  /** True while the request runs, and while the user is asked for a proof. */
  isPending: boolean;
  mutate(variables: Variables): void;
};

/**
 * A mutation that needs a Security Proof: asks the user to confirm, then sends the change. Nothing
 * is sent if they cancel.
 */
export function useMutationWithProof<Variables, T = unknown>({
  scope,
  needsProof = () => true,
  request,
  onSuccess,
  onError,
  ...others
}: MutationWithProofOptions<Variables, T>): MutationWithProof<Variables, T> {
  const requestProof = useSecurityProof();
  const [isAsking, setAsking] = useState(false);
  const change = useApiMutation<{ variables: Variables; proof: string }, T>({
    ...others,
    request: ({ variables, proof }) => {
      const { headers, ...unproven } = request(variables);
      return { ...unproven, headers: { ...headers, ...(proof === '' ? {} : { 'x-security-proof': proof }) } };
    },
    onSuccess: (answer, { variables }) => onSuccess?.(answer, variables),
    onError: (error, { variables }) => onError?.(error, variables),
  });
  const proveAndMutate = async (variables: Variables): Promise<void> => {
    setAsking(true);
    const proof = needsProof(variables) ? await requestProof(scope) : '';
    setAsking(false);
    if (proof !== null) change.mutate({ variables, proof });
  };
  const { data, error, isError, reset } = change;
  return {
    data,
    error,
    isError,
    reset,
    isPending: isAsking || change.isPending,
    variables: change.variables?.variables,
    mutate: (variables) => void proveAndMutate(variables),
  };
}
