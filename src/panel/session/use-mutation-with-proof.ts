import type { UseMutationResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProofScope } from '../api/types.ts';
import { type UseChangeOptions, useChange } from '../api/use-api.ts';
import { useProof } from './security-proof.tsx';

type Options<Variables, T> = UseChangeOptions<Variables, T> & {
  scope: ProofScope;
  /** False for a change that takes no proof; left out: all take one. */
  needsProof?(variables: Variables): boolean;
};

type ChangeWithProof<Variables, T> = Pick<
  UseMutationResult<T, Error, Variables>,
  'data' | 'error' | 'isError' | 'reset' | 'variables'
> & {
  /** While the user is asked, too. */
  isPending: boolean;
  mutate(variables: Variables): void;
};

/**
 * A change that takes a Security Proof: asks the user to confirm that it is they, then sends the
 * change. Nothing is sent when they give up.
 */
export function useChangeWithProof<Variables, T = unknown>({
  scope,
  needsProof = () => true,
  request,
  onSuccess,
  onError,
  ...others
}: Options<Variables, T>): ChangeWithProof<Variables, T> {
  const askProof = useProof();
  const [isAsking, setAsking] = useState(false);
  const change = useChange<{ variables: Variables; proof: string }, T>({
    ...others,
    request: ({ variables, proof }) => {
      const { headers, ...unproven } = request(variables);
      return { ...unproven, headers: { ...headers, ...(proof === '' ? {} : { 'x-security-proof': proof }) } };
    },
    onSuccess: (answer, { variables }) => onSuccess?.(answer, variables),
    onError: (error, { variables }) => onError?.(error, variables),
  });
  const prove = async (variables: Variables): Promise<void> => {
    setAsking(true);
    const proof = needsProof(variables) ? await askProof(scope) : '';
    setAsking(false);
    if (proof !== null) change.mutate({ variables, proof });
  };
  const { data, error, isError, reset } = change;
  return {
    ...{ data, error, isError, reset },
    isPending: isAsking || change.isPending,
    variables: change.variables?.variables,
    mutate: (variables) => void prove(variables),
  };
}
