import { ActionIcon, Button, Input, PasswordInput, Stack, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import type { Form } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import type { ChannelValues } from './channel-form-values.ts';
import classes from './channels.module.css';

/** Which way the channel's requests leave, and what they carry. Few channels need it. */
export function ChannelNetwork({ form }: { form: Form<ChannelValues> }) {
  const { t } = useTranslation();
  const { values } = form;
  const isFaulty = (['proxy', 'headers', 'body_defaults'] as const).some((field) => form.readError(field));
  return (
    <Section heading={t('channels.network')}>
      <Collapsible label={t('channels.networkChange')} note={t('channels.networkNote')} forceOpen={isFaulty}>
        <Stack gap="lg">
          <TextInput
            label={t('channels.proxy')}
            description={t('channels.proxyHelp')}
            placeholder="socks5h://user:password@proxy.example.com:1080"
            maxLength={1000}
            spellCheck={false}
            autoComplete="off"
            {...form.bind('proxy')}
          />
          <HeaderRows
            rows={values.headers}
            onChange={(rows) => form.set('headers', rows)}
            error={form.readError('headers')}
          />
          {values.task_plugin_key === 'relay' && (
            <Textarea
              label={t('channels.bodyDefaults')}
              description={t('channels.bodyDefaultsHelp')}
              placeholder={'{"max_tokens": 4096}'}
              autosize
              minRows={2}
              maxRows={10}
              spellCheck={false}
              classNames={{ input: classes.code ?? '' }}
              {...form.bind('body_defaults')}
            />
          )}
        </Stack>
      </Collapsible>
    </Section>
  );
}

type Rows = ChannelValues['headers'];
type HeaderRowsProps = { rows: Rows; onChange(rows: Rows): void; error: string | null };

/** A stored value is not shown, and stays while its field is empty. */
function HeaderRows({ rows, onChange, error }: HeaderRowsProps) {
  const { t } = useTranslation();
  const updateRow = (index: number, change: Partial<Rows[number]>): void =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  return (
    <fieldset className={classes.mapping}>
      <legend>{t('channels.headers')}</legend>
      <Input.Description>{t('channels.headersHelp')}</Input.Description>
      {rows.map((row, index) => (
        <div key={index} className={classes.headerRow}>
          <TextInput
            aria-label={t('channels.headerName', { number: index + 1 })}
            placeholder="X-Api-Manager"
            value={row.name}
            onChange={(event) => updateRow(index, { name: event.currentTarget.value })}
            spellCheck={false}
          />
          <PasswordInput
            aria-label={t('channels.headerValue', { number: index + 1 })}
            placeholder={row.isStored ? '••••••••' : ''}
            autoComplete="new-password"
            value={row.value}
            onChange={(event) => updateRow(index, { value: event.currentTarget.value })}
            visibilityToggleButtonProps={{ 'aria-label': t('channels.keyShowTyped') }}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size={36}
            aria-label={t('channels.headerRemove', { number: index + 1 })}
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
        onClick={() => onChange([...rows, { name: '', value: '', isStored: false }])}
      >
        {t('channels.headerAdd')}
      </Button>
    </fieldset>
  );
}
