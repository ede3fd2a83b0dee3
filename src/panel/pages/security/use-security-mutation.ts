import type { ApiRequest } from '../../api/send-request.ts';
import type { SessionRotation } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useApiMutation } from '../../session/use-api.ts';

type SecurityMutation<Variables, Answer extends SessionRotation> = {
  request(variables: Variables): ApiRequest;
  /** Runs before the refetch, for values that are shown only once. */
  onResponse?(answer: Answer): void;
  onSuccess?(answer: Answer, variables: Variables): void;
};

/**
 * Changes how the account is protected. Every other session ends; this one continues with the
 * access token of the answer.
 */
export function useSecurityMutation<Variables, Answer extends SessionRotation = SessionRotation>({
  request,
  onResponse,
  onSuccess,
}: SecurityMutation<Variables, Answer>) {
  const session = useSession();
  return useApiMutation<Variables, Answer>({
    request,
    // Before the refetch: the previous access token is no longer valid.
    onResponse: (answer) => {
      session.adopt(answer);
      onResponse?.(answer);
    },
    // Other sessions have ended, and the account's details have changed.
    invalidates: ['/api/user/'],
    ...(onSuccess === undefined ? {} : { onSuccess }),
  });
}
