import { Alert } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useGatewayStatus } from '../session/use-gateway-status.ts';
import { Markdown } from '../ui/display/markdown.tsx';

/** What the operator tells everybody, above every page. */
export function OperatorNotice() {
  const { t } = useTranslation();
  const notice = useGatewayStatus().data?.notice.trim() ?? '';
  if (notice === '') return null;
  return (
    <Alert color="gate" variant="light" radius={0} component="aside" role="note" aria-label={t('nav.notice')}>
      <Markdown source={notice} />
    </Alert>
  );
}
