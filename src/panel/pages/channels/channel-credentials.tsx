import { ActionIcon, Button, Group, Menu, Stack, Text } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { QUOTA_PER_USD } from '../../../kernel/quota.ts';
import { translateOrQuote } from '../../api/translate-sentence.ts';
import type { Channel } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { ServerText } from '../../ui/display/server-text.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FormDialog } from '../../ui/form/form-dialog.tsx';
import { Section } from '../../ui/page/section.tsx';
import { useSecurityProof } from '../../ui/security-proof/security-proof.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { isResting } from './capacity-state.ts';
import type { PluginChoice } from './channel-form-values.ts';
import classes from './channels.module.css';
import { AddKeys, EditKey } from './edit-keys.tsx';

type Credential = Channel['credentials'][number];

const DAY_SECONDS = 86_400;
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** The label of a key, or how it ends. */
const nameKey = ({ label, key_hint: hint }: Pick<Credential, 'label' | 'key_hint'>, t: TFunction): string =>
  label === '' ? t('channels.keyEnds', { hint: hint === '' ? '…' : hint }) : label;

/**
 * How many tasks the vendor runs at once with a key; null where that is not known, or where keys
 * share a limit.
 */
function findKeyLimit({ credentials, capacity, limits, pool }: Channel, key: Credential): number | null {
  const others = credentials.filter((one) => one !== key);
  const isShared = key.pool === '' || key.pool === pool || others.some((one) => one.pool === key.pool);
  const declared = others.length === 0 ? capacity.limit : isShared ? null : limits?.max_running;
  const limit = Math.min(...[declared, key.told_limits?.max_running].flatMap((each) => each ?? []));
  return Number.isFinite(limit) ? limit : null;
}

/** Whether the vendor is not asked with this key for a while. */
const findRest = (channel: Channel, { id }: Credential) =>
  channel.capacity.credentials.find((each) => each.id === id && isResting(each));

type ChannelCredentialsProps = { channel: Channel; plugin: PluginChoice | undefined };

/** The keys of a channel as rows: new tasks go to the one that runs least. */
export function ChannelCredentials({ channel, plugin }: ChannelCredentialsProps) {
  const { t } = useTranslation();
  const shown = useShownKey(channel);
  const [isAdding, setAdding] = useState(false);
  const [edited, setEdited] = useState<Credential | null>(null);
  // A link to one key opens it.
  const linkedKey = useSearchParams()[0].get('key');
  const [opened, setOpened] = useState<string | null>(null);
  if (linkedKey !== opened) {
    setOpened(linkedKey);
    setEdited(channel.credentials.find(({ id }) => String(id) === linkedKey) ?? null);
  }
  const columns = useColumns({ channel, shown, onEdit: setEdited });
  const balance = useApiMutation<undefined>({
    request: () => ({ method: 'POST', path: `/api/channel/${channel.id}/balance`, timeoutMs: 90_000 }),
    invalidates: ['/api/channel'],
  });
  const hasScript = typeof channel.settings.balance_script === 'string' && channel.settings.balance_script !== '';
  const isAsked = hasScript || channel.credentials.some(({ balance }) => balance.read_at > 0);
  return (
    <Section
      heading={t('channels.keys')}
      intro={channel.credentials.length > 1 ? t('channels.keysHelp') : undefined}
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
      {shown.error !== null && <ErrorNotice error={shown.error} />}
      {shown.key !== null && (
        <Stack gap={8} align="flex-start">
          <CopyField text={shown.key} />
          <Button variant="default" size="xs" onClick={shown.hide}>
            {t('channels.keyHide')}
          </Button>
        </Stack>
      )}
      {shown.isAllowed && (
        <Text size="sm" c="dimmed">
          {t('channels.storedHelp')}
        </Text>
      )}
      <FormDialog isOpen={isAdding} onClose={() => setAdding(false)} title={t('channels.keysAdd')} size="lg">
        <AddKeys channel={channel} onDone={() => setAdding(false)} />
      </FormDialog>
      <FormDialog isOpen={edited !== null} onClose={() => setEdited(null)} title={t('channels.keyEdit')} size="md">
        {edited !== null && (
          <EditKey channel={channel} plugin={plugin} credential={edited} onDone={() => setEdited(null)} />
        )}
      </FormDialog>
    </Section>
  );
}

/** Shows a stored key to root after a Security Proof, until it is hidden or the page is left. */
function useShownKey(channel: Channel) {
  const { t } = useTranslation();
  const prove = useSecurityProof();
  const isAllowed = useRole() >= roles.root;
  const [shown, setShown] = useState<string | null>(null);
  const read = useApiMutation<{ id: number; proof: string }, { key: string }>({
    request: ({ id, proof }) => ({
      method: 'POST',
      path: `/api/channel/${channel.id}/credentials/${id}/key`,
      ...(proof === '' ? {} : { headers: { 'x-security-proof': proof } }),
    }),
    onSuccess: ({ key }) => setShown(key),
  });
  return {
    isAllowed,
    key: shown,
    error: read.error,
    async show({ id, key_hint: hint }: Credential): Promise<void> {
      const reason = t('channels.keyProof', { name: channel.name, hint: hint || '…' });
      const proof = await prove('channel.key.read', { reason, action: t('channels.keyShow') });
      if (proof !== null) read.mutate({ id, proof });
    },
    hide(): void {
      setShown(null);
      read.reset();
    },
  };
}

type ColumnsInput = {
  channel: Channel;
  shown: ReturnType<typeof useShownKey>;
  onEdit(credential: Credential): void;
};

function useColumns({ channel, shown, onEdit }: ColumnsInput): Column<Credential>[] {
  const { t } = useTranslation();
  const format = useFormat();
  return [
    {
      key: 'label',
      heading: t('channels.key'),
      render: ({ label, key_hint: hint }) => (
        <>
          <Text span inherit fw={550}>
            {nameKey({ label, key_hint: hint }, t)}
          </Text>
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
      minor: true,
      render: (key) => {
        const [taken, limit] = [format.number(key.running), findKeyLimit(channel, key)];
        return limit === null ? taken : t('queue.slotsOf', { taken, limit: format.number(limit) });
      },
    },
    {
      key: 'spend',
      heading: t('channels.keySpend'),
      numeric: true,
      minor: true,
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
        <KeyActions channel={channel} shown={shown} credential={credential} onEdit={() => onEdit(credential)} />
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
      <span title={at > 0 ? t('channels.keyBalanceAt', { date: format.time(at) }) : undefined}>
        {usd === null ? '–' : format.exactMoney(usd * QUOTA_PER_USD)}
      </span>
      {fault !== null && (
        <Text size="xs" c="dimmed">
          <ServerText text={fault.message} sentence={fault} />
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
  const rest = isOn ? findRest(channel, credential) : undefined;
  return (
    <div className={classes.keyStatus}>
      {rest ? (
        <>
          <StatusLabel tone="waiting">{t('channels.rests.rested')}</StatusLabel>
          {rest.rest_reason !== '' && <Text size="xs">{t(`channels.keyRest.${rest.rest_reason}`)}</Text>}
          <Text size="xs" c="dimmed">
            {t('channels.keyNextTry', { when: format.ago(rest.resting_until) })}
          </Text>
        </>
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
      {error !== '' && !rest && (
        <Text size="xs" c="dimmed">
          {t('channels.keyError', {
            date: format.time(errorAt),
            error:
              said?.reason === 'tasks.vendor_quota_exhausted'
                ? t('channels.rest.balance')
                : translateOrQuote({ ...said, message: error }, t),
          })}
        </Text>
      )}
    </div>
  );
}

type KeyActionsProps = Omit<ColumnsInput, 'onEdit'> & { credential: Credential; onEdit(): void };

function KeyActions({ channel, shown, credential, onEdit }: KeyActionsProps) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const path = `/api/channel/${channel.id}/credentials/${credential.id}`;
  const isOn = credential.status === 1;
  const isResting = isOn && findRest(channel, credential) !== undefined;
  const change = useApiMutation<'remove' | 'switch' | 'wake'>({
    request: (what) =>
      what === 'remove'
        ? { method: 'DELETE', path }
        : what === 'wake'
          ? { method: 'POST', path: `/api/channel/${channel.id}/wake` }
          : { method: 'PUT', path, body: { status: isOn ? 2 : 1 } },
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
  const main = isResting
    ? { text: t('channels.tryNow'), press: () => change.mutate('wake') }
    : isOn
      ? { text: t('channels.keyEdit'), press: onEdit }
      : { text: t('channels.keyEnable'), press: () => change.mutate('switch') };
  return (
    <>
      <Group gap={4} wrap="nowrap" justify="flex-end">
        <Button variant="default" size="xs" loading={change.isPending} onClick={main.press}>
          {main.text}
        </Button>
        {/* The frame of the table would cut it off. */}
        <Menu width={180} withinPortal>
          <Menu.Target>
            <ActionIcon
              variant="subtle"
              color="gray"
              size={34}
              aria-label={t('keys.actionsOf', { name: nameKey(credential, t) })}
            >
              <IconDots size={18} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {(isResting || !isOn) && (
              <Menu.Item onClick={onEdit}>{t(isResting ? 'channels.replaceKey' : 'channels.keyEdit')}</Menu.Item>
            )}
            {shown.isAllowed && (
              <Menu.Item onClick={() => void shown.show(credential)}>{t('channels.keyShow')}</Menu.Item>
            )}
            {isOn && <Menu.Item onClick={() => change.mutate('switch')}>{t('channels.keyDisable')}</Menu.Item>}
            {channel.credentials.length > 1 && (
              <Menu.Item c="var(--mantine-color-error)" onClick={() => void remove()}>
                {t('channels.keyRemove')}
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      </Group>
      {change.error !== null && <ErrorNotice error={change.error} />}
    </>
  );
}
