import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate } from 'react-router';
import { errorMessage } from '../../api/error-message.ts';
import type { GatewayStatus } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { FullPageLoader, FullPageMessage } from '../../ui/page/full-page.tsx';

/**
 * Renders pages that depend on the gateway's status. Without a root account it redirects to the
 * setup.
 */
export function WithGatewayStatus({ children }: { children: (status: GatewayStatus) => ReactNode }) {
  const { t, i18n } = useTranslation();
  const status = useGatewayStatus();
  if (status.data) return status.data.setup ? children(status.data) : <Navigate to="/setup" replace />;
  if (!status.isError) return <FullPageLoader />;
  return (
    <FullPageMessage
      heading={t('error.title')}
      text={errorMessage(status.error, t, i18n.language)}
      action={t('app.retry')}
      onAction={() => void status.refetch()}
    />
  );
}
