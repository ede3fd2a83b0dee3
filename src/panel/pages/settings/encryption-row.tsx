import { Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { fieldMessage } from '../../api/error-message.ts';
import type { Option } from '../../api/types.ts';
import { IMPLICIT_TLS as IMPLICIT, nameOption, STARTTLS } from './option-texts.ts';
import classes from './settings.module.css';
import type { OptionDrafts } from './use-option-drafts.ts';

type EncryptionRowProps = { options: readonly Option[]; drafts: OptionDrafts };

export function EncryptionRow({ options, drafts }: EncryptionRowProps) {
  const { t, i18n } = useTranslation();
  const isOn = (key: string): boolean => {
    const option = options.find((each) => each.key === key);
    return option !== undefined && drafts.valueFor(option) === 'true';
  };
  const error = drafts.findError(IMPLICIT) ?? drafts.findError(STARTTLS);
  return (
    <div
      id={`option-${IMPLICIT}`}
      className={classes.row}
      data-changed={drafts.isChanged(IMPLICIT) || drafts.isChanged(STARTTLS) || undefined}
    >
      <div id={`option-${STARTTLS}`}>
        <Select
          label={t('settings.encryption')}
          description={t('settings.encryption.help')}
          classNames={{ wrapper: classes.medium ?? '' }}
          error={error === null ? null : fieldMessage(error, t, i18n.language)}
          allowDeselect={false}
          data={[
            { value: '', label: t('settings.encryption.opportunistic') },
            { value: STARTTLS, label: t('settings.encryption.starttls') },
            { value: IMPLICIT, label: t(nameOption(IMPLICIT)) },
          ]}
          value={isOn(IMPLICIT) ? IMPLICIT : isOn(STARTTLS) ? STARTTLS : ''}
          onChange={(chosen) => {
            for (const key of [IMPLICIT, STARTTLS]) drafts.set(key, String(key === chosen));
          }}
        />
      </div>
    </div>
  );
}
