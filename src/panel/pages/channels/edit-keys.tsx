import { Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Channel } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import type { PluginChoice } from './channel-form-values.ts';
import { KeyInput } from './channel-inputs.tsx';

type Credential = Channel['credentials'][number];

type DialogProps = { channel: Channel; onDone(): void };

/** Many keys are pasted, one a line. */
export function AddKeys({ channel, onDone }: DialogProps) {
  const { t } = useTranslation();
  const change = useApiMutation<{ key: string }[]>({
    request: (credentials) => ({
      method: 'POST',
      path: `/api/channel/${channel.id}/credentials`,
      body: { credentials },
    }),
    invalidates: ['/api/channel'],
    onSuccess: () => {
      notifySuccess(t('app.saved'));
      onDone();
    },
  });
  const form = useForm<{ credentials: string }, { key: string }[]>({
    initial: { credentials: '' },
    validate: ({ credentials }) => ({
      credentials: readLines(credentials).length === 0 ? t('channels.keyMissing') : null,
    }),
    toVariables: ({ credentials }) => readLines(credentials).map((key) => ({ key })),
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Textarea
          label={t('channels.keys')}
          description={t('channels.keysLines')}
          autosize
          minRows={4}
          maxRows={16}
          spellCheck={false}
          {...form.bind('credentials')}
        />
        <FormDialogButtons action={t('channels.keysAdd')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}

const readLines = (text: string): string[] =>
  text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));

type KeyValues = { key: string; label: string; pool: string; expires_at: string };

type EditKeyProps = DialogProps & { credential: Credential; plugin: PluginChoice | undefined };

export function EditKey({ channel, plugin, credential, onDone }: EditKeyProps) {
  const { t } = useTranslation();
  const change = useApiMutation<Record<string, unknown>>({
    request: (body) => ({ method: 'PUT', path: `/api/channel/${channel.id}/credentials/${credential.id}`, body }),
    invalidates: ['/api/channel'],
    onSuccess: () => {
      notifySuccess(t('app.saved'));
      onDone();
    },
  });
  const form = useForm<KeyValues, Record<string, unknown>>({
    initial: { key: '', label: credential.label, pool: credential.pool, expires_at: toDay(credential.expires_at) },
    validate: () => ({}),
    toVariables: ({ key, label, pool, expires_at: day }) => ({
      label,
      pool: pool.trim(),
      expires_at: day === '' ? 0 : Math.floor(Date.parse(`${day}T00:00:00Z`) / 1000),
      ...(key === '' ? {} : { key }),
    }),
    change,
  });
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <KeyInput form={form} hint={credential.key_hint} plugin={plugin} />
        <TextInput label={t('channels.keyLabel')} {...form.bind('label')} />
        <TextInput label={t('channels.keyPool')} description={t('channels.keyPoolHelp')} {...form.bind('pool')} />
        <TextInput
          label={t('channels.keyEnd')}
          description={t('channels.keyEndHelp')}
          type="date"
          {...form.bind('expires_at')}
        />
        <FormDialogButtons action={t('app.save')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}

const toDay = (seconds: number): string => (seconds === 0 ? '' : new Date(seconds * 1000).toISOString().slice(0, 10));
