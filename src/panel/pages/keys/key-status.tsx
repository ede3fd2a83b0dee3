import { useTranslation } from 'react-i18next';
import { type ApiKey, keyStatus } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { StatusLabel, type Tone } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import classes from './key-status.module.css';

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

/** When a key was used last, and from which address. */
export function KeyLastUse({ apiKey }: { apiKey: ApiKey }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <div className={classes.lastUse}>
      <span className={classes.time}>
        {apiKey.last_used_at === 0 ? t('keys.notUsed') : format.ago(apiKey.last_used_at)}
      </span>
      {apiKey.last_used_ip !== '' && <span className={classes.address}>{apiKey.last_used_ip}</span>}
    </div>
  );
}

/** As `KeyLastUse`, for a line of facts. */
export function useLastUseFacts(): (apiKey: ApiKey) => readonly string[] {
  const { t } = useTranslation();
  const format = useFormat();
  return ({ last_used_at: at, last_used_ip: ip }) => [
    at === 0 ? t('keys.notUsedYet') : t('keys.usedShort', { ago: format.ago(at) }),
    ip,
  ];
}
