import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { GatewayStatus } from '../api/types.ts';
import { useSession } from './session-context.tsx';

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
