import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import type { Form } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import type { ChannelValues } from './channel-form-values.ts';
import classes from './channels.module.css';
import { RowList } from './row-list.tsx';

/** What the vendor lets the account run. Empty fields are learned. */
export function ChannelLimits({ form }: { form: Form<ChannelValues> }) {
  const { t } = useTranslation();
  return (
    <Section heading={t('channels.limits')} intro={t('channels.limitsHelp')}>
      <div className={`${sideBySide.fields} ${classes.limits}`}>
        <DecimalField
          label={t('channels.maxRunning')}
          description={t('channels.maxRunningHelp')}
          placeholder={t('channels.learned')}
          {...form.bindValue('limits.max_running')}
        />
        <DecimalField
          label={t('channels.maxPerMinute')}
          description={t('channels.maxPerMinuteHelp')}
          placeholder={t('channels.learned')}
          {...form.bindValue('limits.max_per_minute')}
        />
        <DecimalField
          label={t('channels.burst')}
          description={t('channels.burstHelp')}
          placeholder="1"
          {...form.bindValue('limits.burst')}
        />
      </div>
      <TextInput
        label={t('channels.pool')}
        description={t('channels.poolHelp')}
        placeholder={t('channels.poolExample')}
        maxLength={64}
        spellCheck={false}
        {...form.bind('pool')}
      />
      <ModelLimits
        rows={form.values['limits.models']}
        onChange={(rows) => form.set('limits.models', rows)}
        error={form.readError('limits.models')}
      />
    </Section>
  );
}

type Rows = ChannelValues['limits.models'];
type ModelLimitsProps = { rows: Rows; onChange(rows: Rows): void; error: string | null };

/** Limits of single models, by the vendor's names. */
function ModelLimits(props: ModelLimitsProps) {
  const { t } = useTranslation();
  return (
    <RowList
      {...props}
      legend={t('channels.modelLimits')}
      description={t('channels.modelLimitsHelp')}
      emptyRow={{ model: '', max_running: '', max_per_minute: '' }}
      addLabel={t('channels.modelLimitAdd')}
      removeLabel={(number) => t('channels.modelLimitRemove', { number })}
      rowClass={classes.limitRow}
    >
      {(row, change) => (
        <>
          <TextInput
            label={t('tasks.model')}
            value={row.model}
            onChange={(event) => change({ model: event.currentTarget.value })}
            spellCheck={false}
          />
          <DecimalField
            label={t('channels.maxRunning')}
            value={row.max_running}
            onChange={(value) => change({ max_running: value })}
          />
          <DecimalField
            label={t('channels.maxPerMinute')}
            value={row.max_per_minute}
            onChange={(value) => change({ max_per_minute: value })}
          />
        </>
      )}
    </RowList>
  );
}
