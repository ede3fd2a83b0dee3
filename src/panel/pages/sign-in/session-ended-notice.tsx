import { Alert } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import type { TextKey } from '../../i18n/texts.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import type { SessionEnd } from '../../session/session-state.ts';

const texts = {
  revoked: 'ended.revoked',
  expired: 'ended.expired',
  signed_out: 'ended.signedOut',
} as const satisfies Record<SessionEnd, TextKey>;

/** Why the previous session ended and what became of unsaved changes; nothing without one. */
export function SessionEndedNotice({ isInPlace }: { isInPlace: boolean }) {
  const { t } = useTranslation();
  const state = useLocation().state as { isWorkLost?: boolean } | null;
  const { end } = useSessionSnapshot();
  if (end === null) return null;
  return (
    <Alert color="gate" variant="light" icon={<IconInfoCircle size={18} stroke={1.6} />} role="status">
      {t(texts[end])} {isInPlace ? t('ended.kept') : state?.isWorkLost && t('ended.lost')}
    </Alert>
  );
}
