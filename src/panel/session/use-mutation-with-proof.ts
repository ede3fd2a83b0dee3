import type { UseMutationResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { SecurityProofScope } from '../api/types.ts';
import { type UseApiMutationOptions, useApiMutation } from '../api/use-api.ts';
import { useSecurityProof } from './security-proof.tsx';

type MutationWithProofOptions<Variables, T> = UseApiMutationOptions<Variables, T> & {
  scope: SecurityProofScope;
  /** False if this change needs no proof; by default all do. */
  needsProof?(variables: Variables): boolean;
};

type MutationWithProof<Variables, T> = Pick<
  UseMutationResult<T, Error, Variables>,
  'data' | 'error' | 'isError' | 'reset' | 'variables'
> & {
  /** Also true while the user is asked. */
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
