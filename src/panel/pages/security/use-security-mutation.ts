import type { ApiRequest } from '../../api/send-request.ts';
import type { SessionRotation } from '../../api/types.ts';
import { useApiMutation } from '../../api/use-api.ts';
import { useSession } from '../../session/session-context.tsx';

type SecurityMutation<Variables, Answer extends SessionRotation> = {
  request(variables: Variables): ApiRequest;
  /** For what is shown once, so at once: before anything is read again. */
  onResponse?(answer: Answer): void;
  onSuccess?(answer: Answer, variables: Variables): void;
};

/**
 * A change of what protects the account: every other session ends, and this one goes on with the
 * token of the answer.
 */
export function useSecurityMutation<Variables, Answer extends SessionRotation = SessionRotation>({
  request,
  onResponse,
  onSuccess,
}: SecurityMutation<Variables, Answer>) {
  const session = useSession();
  return useApiMutation<Variables, Answer>({
    request,
    // Before anything is read again: the former token is dead.
    onResponse: (answer) => {
      session.adopt(answer);
      onResponse?.(answer);
    },
    // Sessions have ended, and the account is described otherwise.
    invalidates: ['/api/user/'],
    ...(onSuccess === undefined ? {} : { onSuccess }),
  });
}
