import type { ApiRequest } from '../../api/send-request.ts';
import type { SessionRotation } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { useSession } from '../../session/session-context.tsx';

type SecurityChange<Variables, Answer extends SessionRotation> = {
  request(variables: Variables): ApiRequest;
  /** For what is shown once, so at once: before anything is read again. */
  onAnswer?(answer: Answer): void;
  onSuccess?(answer: Answer, variables: Variables): void;
};

/**
 * A change of what protects the account: every other session ends, and this one goes on with the
 * token of the answer.
 */
export function useSecurityChange<Variables, Answer extends SessionRotation = SessionRotation>({
  request,
  onAnswer,
  onSuccess,
}: SecurityChange<Variables, Answer>) {
  const session = useSession();
  return useChange<Variables, Answer>({
    request,
    // Before anything is read again: the former token is dead.
    onAnswer: (answer) => {
      session.adopt(answer);
      onAnswer?.(answer);
    },
    // Sessions have ended, and the account is described otherwise.
    stale: ['/api/user/'],
    ...(onSuccess === undefined ? {} : { onSuccess }),
  });
}
