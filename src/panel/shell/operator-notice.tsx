import { Alert } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSessionSnapshot } from '../session/session-context.tsx';
import { useGatewayStatus } from '../session/use-gateway-status.ts';
import { Markdown } from '../ui/display/markdown.tsx';
import { dismissNotice, isNoticeDismissed } from './dismissed-notice.ts';

/** What the operator tells everybody, above every page. Dismissed, it returns with a new text. */
export function OperatorNotice() {
  const { t } = useTranslation();
  const notice = useGatewayStatus().data?.notice.trim() ?? '';
  const user = useSessionSnapshot().bundle?.user.id ?? 0;
  const [dismissed, setDismissed] = useState('');
  if (notice === '' || notice === dismissed || isNoticeDismissed(user, notice)) return null;
  const dismiss = (): void => {
    setDismissed(notice);
    dismissNotice(user, notice);
  };
  return (
    <Alert
      color="gate"
      variant="light"
      radius={0}
      component="aside"
      role="note"
      aria-label={t('nav.notice')}
      withCloseButton
      closeButtonLabel={t('nav.notice.dismiss')}
      onClose={dismiss}
    >
      <Markdown source={notice} />
    </Alert>
  );
}
