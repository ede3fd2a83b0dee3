import { PasswordInput, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import type { Form } from '../../ui/form/use-form.ts';
import type { ChannelValues } from './channel-form-values.ts';
import classes from './channels.module.css';
import { RowList } from './row-list.tsx';

/** Which way the channel's requests leave, and what they carry. Few channels need it. */
export function ChannelNetwork({ form }: { form: Form<ChannelValues> }) {
  const { t } = useTranslation();
  const { values } = form;
  const isFaulty = (['proxy', 'headers', 'body_defaults'] as const).some((field) => form.readError(field));
  return (
    <Collapsible label={t('channels.networkChange')} forceOpen={isFaulty}>
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
        <HeaderRows form={form} />
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
  );
}

/** A stored value is not shown, and stays while its field is empty. */
function HeaderRows({ form }: { form: Form<ChannelValues> }) {
  const { t } = useTranslation();
  const { value: rows, onChange, error, ref } = form.bindValue('headers');
  const faulty = form.faultyEntry('headers');
  const faultyRow = faulty === null ? -1 : rows.findIndex(({ name }) => name.trim() === faulty);
  return (
    <RowList
      rows={rows}
      onChange={onChange}
      error={faultyRow < 0 ? error : null}
      legend={t('channels.headers')}
      description={t('channels.headersHelp')}
      emptyRow={{ name: '', value: '', isStored: false }}
      addLabel={t('channels.headerAdd')}
      removeLabel={(number) => t('channels.headerRemove', { number })}
      rowClass={classes.headerRow}
    >
      {(row, change, number) => (
        <>
          <TextInput
            aria-label={t('channels.headerName', { number })}
            placeholder="X-Api-Manager"
            value={row.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
            spellCheck={false}
            {...(number === faultyRow + 1 ? { error, ref } : {})}
          />
          <PasswordInput
            aria-label={t('channels.headerValue', { number })}
            placeholder={row.isStored ? '••••••••' : ''}
            autoComplete="new-password"
            value={row.value}
            onChange={(event) => change({ value: event.currentTarget.value })}
            visibilityToggleButtonProps={{ 'aria-label': t('channels.keyShowTyped') }}
          />
        </>
      )}
    </RowList>
  );
}
