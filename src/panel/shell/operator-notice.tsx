import { Alert } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useGatewayStatus, useSessionSnapshot } from '../session/session-context.tsx';
import { Markdown } from '../ui/display/markdown.tsx';

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

/** The notices that viewers of this browser have dismissed, by user. */
const storageKey = 'taskgate.dismissedNotice';
const maxUsers = 20;

function readAll(): Record<string, string> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '{}');
    return typeof stored === 'object' && stored !== null ? (stored as Record<string, string>) : {};
  } catch {
    // Blocked or broken: nothing was dismissed.
    return {};
  }
}

/** Whether the user has dismissed the notice with this very text. */
const isNoticeDismissed = (user: number, notice: string): boolean => readAll()[`u${user}`] === notice;

function dismissNotice(user: number, notice: string): void {
  const { [`u${user}`]: _, ...others } = readAll();
  const kept = [...Object.entries(others), [`u${user}`, notice] as const].slice(-maxUsers);
  try {
    localStorage.setItem(storageKey, JSON.stringify(Object.fromEntries(kept)));
  } catch {
    // Storage is blocked: it stays dismissed until the page is closed.
  }
}
