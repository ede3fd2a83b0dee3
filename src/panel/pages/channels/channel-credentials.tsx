import { ActionIcon, Button, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import { translateOrQuote } from '../../api/say-sentence.ts';
import type { Channel } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { isResting, Rest } from './channel-capacity.tsx';
import classes from './channels.module.css';

type Credential = Channel['credentials'][number];

const DAY_SECONDS = 86_400;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** The keys of a channel as rows: new tasks go to the one that runs least. */
export function ChannelCredentials({ channel }: { channel: Channel }) {
  const { t } = useTranslation();
  const [isAdding, setAdding] = useState(false);
  const [edited, setEdited] = useState<Credential | null>(null);
  const columns = useColumns(channel, setEdited);
  const balance = useApiMutation<undefined>({
    request: () => ({ method: 'POST', path: `/api/channel/${channel.id}/balance`, timeoutMs: 90_000 }),
    invalidates: ['/api/channel'],
  });
  const hasScript = typeof channel.settings.balance_script === 'string' && channel.settings.balance_script !== '';
  const isAsked = hasScript || channel.credentials.some(({ balance }) => balance.read_at > 0);
  return (
    <Section
      heading={t('channels.keys')}
      intro={t('channels.keysHelp')}
      actions={
        <Group gap={8}>
          {isAsked && (
            <Button variant="default" loading={balance.isPending} onClick={() => balance.mutate(undefined)}>
              {t('channels.balanceRead')}
            </Button>
          )}
          <Button variant="default" onClick={() => setAdding(true)}>
            {t('channels.keysAdd')}
          </Button>
        </Group>
      }
    >
      {balance.error !== null && <ErrorNotice error={balance.error} />}
      <PlainTable
        label={t('channels.keys')}
        columns={columns}
        rows={channel.credentials}
        rowKey={({ id }) => String(id)}
      />
      <FormDialog isOpen={isAdding} onClose={() => setAdding(false)} title={t('channels.keysAdd')} size="lg">
        <AddKeys channel={channel} onDone={() => setAdding(false)} />
      </FormDialog>
      <FormDialog isOpen={edited !== null} onClose={() => setEdited(null)} title={t('channels.keyEdit')} size="md">
        {edited !== null && <EditKey channel={channel} credential={edited} onDone={() => setEdited(null)} />}
      </FormDialog>
    </Section>
  );
}

function useColumns(channel: Channel, onEdit: (credential: Credential) => void): Column<Credential>[] {
  const { t } = useTranslation();
  const format = useFormat();
  return [
    {
      key: 'label',
      heading: t('channels.key'),
      render: ({ label, key_hint: hint }) => (
        <>
          {label === '' ? t('channels.keyEnds', { hint: hint === '' ? '…' : hint }) : label}
          {label !== '' && hint !== '' && (
            <Text size="xs" c="dimmed">
              {t('channels.keyEnds', { hint })}
            </Text>
          )}
        </>
      ),
    },
    {
      key: 'status',
      wide: true,
      heading: t('channels.service'),
      render: (credential) => <KeyStatus channel={channel} credential={credential} />,
    },
    {
      key: 'running',
      heading: t('channels.keyRunning'),
      numeric: true,
      render: ({ running }) => format.number(running),
    },
    {
      key: 'spend',
      heading: t('channels.keySpend'),
      numeric: true,
      render: ({ used_quota: used }) => format.money(used),
    },
    ...(channel.credentials.some(({ balance }) => balance.read_at > 0)
      ? [
          {
            key: 'balance',
            heading: t('channels.keyBalance'),
            numeric: true,
            render: Balance,
          } satisfies Column<Credential>,
        ]
      : []),
    {
      key: 'actions',
      actions: true,
      heading: t('table.actions'),
      render: (credential) => (
        <KeyActions channel={channel} credential={credential} onEdit={() => onEdit(credential)} />
      ),
    },
  ];
}

/** What is left at the vendor, and when it was read. */
function Balance({ balance: { usd, read_at: at, fault } }: Credential) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <>
      {usd === null ? '–' : format.exactMoney(usd * QUOTA_PER_USD)}
      {at > 0 && (
        <Text size="xs" c="dimmed">
          {fault === null ? (
            t('channels.keyBalanceAt', { date: format.time(at) })
          ) : (
            <ServerText text={fault.message} sentence={fault} />
          )}
        </Text>
      )}
    </>
  );
}

function KeyStatus({ channel, credential }: { channel: Channel; credential: Credential }) {
  const { t } = useTranslation();
  const format = useFormat();
  const {
    status,
    expires_at: endsAt,
    last_error: error,
    last_error_sentence: said,
    last_error_at: errorAt,
    key_readable: isReadable,
  } = credential;
  const isOver = endsAt > 0 && endsAt <= nowSeconds();
  const isOn = status === 1 && !isOver && isReadable;
  const rest = channel.capacity.credentials.find(({ id }) => id === credential.id);
  return (
    <div className={classes.keyStatus}>
      {isOn && rest && isResting(rest) ? (
        <Rest capacity={rest} />
      ) : (
        <StatusLabel tone={isOn ? 'good' : 'quiet'}>
          {t(isOver ? 'channels.keyOver' : isOn ? 'channels.keyOn' : 'channels.keyOff')}
        </StatusLabel>
      )}
      {endsAt > 0 && !isOver && (
        <Text size="xs" c={endsAt < nowSeconds() + 14 * DAY_SECONDS ? 'orange' : 'dimmed'}>
          {t('channels.keyEndsAt', { date: format.date(endsAt) })}
        </Text>
      )}
      {error !== '' && (
        <Text size="xs" c="dimmed">
          {t('channels.keyError', {
            date: format.time(errorAt),
            error: translateOrQuote({ ...said, message: error }, t),
          })}
        </Text>
      )}
    </div>
  );
}

type KeyActionsProps = { channel: Channel; credential: Credential; onEdit(): void };

function KeyActions({ channel, credential, onEdit }: KeyActionsProps) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const path = `/api/channel/${channel.id}/credentials/${credential.id}`;
  const isOn = credential.status === 1;
  const icon = { size: 18, stroke: 1.6, 'aria-hidden': true } as const;
  const change = useApiMutation<'remove' | 'switch'>({
    request: (what) =>
      what === 'remove' ? { method: 'DELETE', path } : { method: 'PUT', path, body: { status: isOn ? 2 : 1 } },
    invalidates: ['/api/channel'],
    onSuccess: () => notifySuccess(t('app.saved')),
  });
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: t('channels.keyRemoveTitle'),
      text: t('channels.keyRemoveText'),
      action: t('channels.keyRemove'),
    });
    if (isConfirmed) change.mutate('remove');
  };
  return (
    <>
      <div className={classes.keyActions}>
        <Button variant="default" size="xs" onClick={onEdit}>
          {t('channels.keyEdit')}
        </Button>
        <KeyAction
          label={t(isOn ? 'channels.keyDisable' : 'channels.keyEnable')}
          icon={isOn ? <IconPlayerPause {...icon} /> : <IconPlayerPlay {...icon} />}
          isPending={change.isPending}
          onClick={() => change.mutate('switch')}
        />
        {channel.credentials.length > 1 && (
          <KeyAction label={t('channels.keyRemove')} icon={<IconTrash {...icon} />} onClick={() => void remove()} />
        )}
      </div>
      {change.error !== null && <ErrorNotice error={change.error} />}
    </>
  );
}

type KeyActionProps = { label: string; icon: ReactNode; isPending?: boolean; onClick(): void };

function KeyAction({ label, icon, isPending = false, onClick }: KeyActionProps) {
  return (
    <ActionIcon variant="default" size={30} title={label} aria-label={label} loading={isPending} onClick={onClick}>
      {icon}
    </ActionIcon>
  );
}

type DialogProps = { channel: Channel; onDone(): void };

/** Many keys are pasted, one a line. */
function AddKeys({ channel, onDone }: DialogProps) {
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

function EditKey({ channel, credential, onDone }: DialogProps & { credential: Credential }) {
  const { t } = useTranslation();
  const { key_hint: hint } = credential;
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
        <TextInput
          label={t('channels.key')}
          description={hint === '' ? t('channels.keyKept') : t('channels.keyKeptHint', { hint })}
          type="password"
          autoComplete="new-password"
          {...form.bind('key')}
        />
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
