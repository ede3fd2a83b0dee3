import { useTranslation } from 'react-i18next';
import type { ApiKey } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusMark, type Tone } from '../../ui/display/status-label.tsx';

const states: Record<ApiKey['status'], { text: TextKey; tone: Tone }> = {
  1: { text: 'keys.status.active', tone: 'good' },
  2: { text: 'keys.status.disabled', tone: 'quiet' },
  3: { text: 'keys.status.expired', tone: 'bad' },
  4: { text: 'keys.status.spent', tone: 'bad' },
};

export function KeyStatus({ status }: Pick<ApiKey, 'status'>) {
  const { t } = useTranslation();
  const { text, tone } = states[status];
  return <StatusMark tone={tone}>{t(text)}</StatusMark>;
}
