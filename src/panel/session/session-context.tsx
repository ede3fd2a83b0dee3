import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { GatewayStatus } from '../api/types.ts';
import type { Session } from './session.ts';
import type { SessionSnapshot } from './session-state.ts';

const SessionContext = createContext<Session | null>(null);

export const SessionProvider = SessionContext.Provider;

/**
 * The page's session.
 * @throws outside of `SessionProvider`.
 */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('useSession is used outside of SessionProvider');
  return session;
}

/** The user who is signed in; rerenders when that changes. */
export function useSessionSnapshot(): SessionSnapshot {
  const session = useSession();
  return useSyncExternalStore(session.subscribe, session.read);
}

/** The gateway's public status. */
export function useGatewayStatus(): UseQueryResult<GatewayStatus> {
  const session = useSession();
  return useQuery({
    queryKey: ['status'],
    queryFn: () => session.send<GatewayStatus>({ method: 'GET', path: '/api/status' }),
  });
}

/** What the operator calls the gateway; the product's name until that is known. */
export const useGatewayName = (): string => useGatewayStatus().data?.system_name || 'Taskgate';
