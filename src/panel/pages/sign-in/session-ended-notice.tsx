import { Alert } from '@mantine/core';
import { IconInfoCircle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { TextKey } from '../../i18n/texts.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import type { SessionEnd } from '../../session/session-state.ts';

const texts = {
  revoked: 'ended.revoked',
  expired: 'ended.expired',
  signed_out: 'ended.signedOut',
} as const satisfies Record<SessionEnd, TextKey>;

/** Why the previous session ended; renders nothing if there was none. */
export function SessionEndedNotice() {
  const { t } = useTranslation();
  const { end } = useSessionSnapshot();
  if (end === null) return null;
  return (
    <Alert color="gate" variant="light" icon={<IconInfoCircle size={18} stroke={1.6} />} role="status">
      {t(texts[end])}
    </Alert>
  );
}
