import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Config } from './config-variables.ts';

/** Sign-ins leave the audit log by themselves; changes stay. */
export function signInRetention(
  { auditSignInDays: days }: Pick<Config, 'auditSignInDays'>,
  store: Store,
  clock: Clock,
) {
  if (days === 0) return [];
  const deleteBatch = (limit: number) => store.logs.deleteAudit('sign_in', clock.unix() - days * 86_400, limit);
  return [{ step: 'sign-ins of the audit log', deleteBatch }];
}
