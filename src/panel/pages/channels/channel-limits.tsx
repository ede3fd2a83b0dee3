import { ActionIcon, Button, Input, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { DecimalField } from '../../ui/form/decimal-field.tsx';
import sideBySide from '../../ui/form/side-by-side.module.css';
import type { Form } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import type { ChannelValues } from './channel-form-values.ts';
import classes from './channels.module.css';

/** What the vendor lets the account run. Empty fields are learned. */
export function ChannelLimits({ form }: { form: Form<ChannelValues> }) {
  const { t } = useTranslation();
  return (
    <Section heading={t('channels.limits')} intro={t('channels.limitsHelp')}>
      <div className={sideBySide.fields}>
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
function ModelLimits({ rows, onChange, error }: ModelLimitsProps) {
  const { t } = useTranslation();
  const updateRow = (index: number, change: Partial<Rows[number]>): void =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  return (
    <fieldset className={classes.mapping}>
      <legend>{t('channels.modelLimits')}</legend>
      <Input.Description>{t('channels.modelLimitsHelp')}</Input.Description>
      {rows.map((row, index) => (
        <div key={index} className={classes.limitRow}>
          <TextInput
            label={t('tasks.model')}
            value={row.model}
            onChange={(event) => updateRow(index, { model: event.currentTarget.value })}
            spellCheck={false}
          />
          <DecimalField
            label={t('channels.maxRunning')}
            value={row.max_running}
            onChange={(value) => updateRow(index, { max_running: value })}
          />
          <DecimalField
            label={t('channels.maxPerMinute')}
            value={row.max_per_minute}
            onChange={(value) => updateRow(index, { max_per_minute: value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('channels.modelLimitRemove', { number: index + 1 })}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            <IconX size={18} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </div>
      ))}
      {error !== null && <Input.Error mt={8}>{error}</Input.Error>}
      <Button
        variant="default"
        size="xs"
        mt={12}
        leftSection={<IconPlus size={16} stroke={1.6} aria-hidden="true" />}
        onClick={() => onChange([...rows, { model: '', max_running: '', max_per_minute: '' }])}
      >
        {t('channels.modelLimitAdd')}
      </Button>
    </fieldset>
  );
}
