import { useTranslation } from 'react-i18next';
import { keyStatus } from '../../api/record-status.ts';
import type { ApiKey } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';

const states: Record<ApiKey['status'], { text: TextKey; tone: Tone }> = {
  [keyStatus.active]: { text: 'keys.status.active', tone: 'good' },
  [keyStatus.disabled]: { text: 'keys.status.disabled', tone: 'quiet' },
  [keyStatus.expired]: { text: 'keys.status.expired', tone: 'bad' },
  [keyStatus.spent]: { text: 'keys.status.spent', tone: 'bad' },
};

export function KeyStatus({ status }: Pick<ApiKey, 'status'>) {
  const { t } = useTranslation();
  const { text, tone } = states[status];
  return <StatusLabel tone={tone}>{t(text)}</StatusLabel>;
}
