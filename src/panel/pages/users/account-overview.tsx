import { Button, Group, SegmentedControl, Select, Stack, Text, TextInput } from '@mantine/core';
import { IconCoin } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createIdempotencyKey, isOutcomeKnown } from '../../api/idempotency-key.ts';
import type { Account } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { DescriptionList } from '../../ui/display/figures.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat, withSign } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { toQuota } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Section } from '../../ui/page/section.tsx';
import { AccountStatus, type Rights, RoleName } from './account-rules.tsx';
import classes from './users.module.css';

/** What an account has and spent. */
export function AccountBalance({ account, rights }: { account: Account; rights: Rights }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [isChanging, setChanging] = useState(false);
  return (
    <Section heading={t('users.balance')}>
      <div className={classes.figure}>{format.money(account.quota)}</div>
      <DescriptionList entries={[[t('users.usedAllTime'), format.money(account.used_quota)]]} />
      {rights.balance && (
        <Group>
          <Button
            leftSection={<IconCoin size={18} stroke={1.6} aria-hidden="true" />}
            onClick={() => setChanging(true)}
          >
            {t('users.changeBalance')}
          </Button>
        </Group>
      )}
      <BalanceDialog account={account} isOpen={isChanging} onClose={() => setChanging(false)} />
    </Section>
  );
}

/** Status, role and activity of an account. */
export function AccountOverview({ account }: { account: Account }) {
  const { t } = useTranslation();
  const format = useFormat();
  const facts: readonly [string, ReactNode][] = [
    [t('users.status'), <AccountStatus key="status" account={account} />],
    [t('users.role'), <RoleName key="role" role={account.role} />],
    [t('users.requests'), format.number(account.request_count)],
    [t('users.keys'), format.number(account.api_keys)],
    [t('users.invited'), format.number(account.invited)],
    [t('users.since'), format.date(account.created_at)],
    [t('users.lastLogin'), account.last_login_at === 0 ? t('users.never') : format.ago(account.last_login_at)],
  ];
  return (
    <Section heading={t('users.tab.account')}>
      <DescriptionList entries={facts} />
    </Section>
  );
}

/** Revokes all links to an account's results. */
export function AccountLinks({ account }: { account: Account }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `/api/user/${account.id}/links/revoke` }),
    invalidates: ['/api/task'],
    onSuccess: () => notifySuccess(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const title = t('users.linksAsk', { name: account.username });
    if (await confirm({ title, text: t('users.linksText'), action: t('links.revoke') })) revoke.mutate();
  };
  return (
    <Section
      heading={t('users.links')}
      intro={t('users.linksHelp')}
      actions={
        <Button variant="light" color="red" size="xs" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      }
    >
      {revoke.isError && <ErrorNotice error={revoke.error} />}
    </Section>
  );
}

type Mode = 'add' | 'subtract' | 'override';
const actionTexts = {
  add: 'users.balance.addAmount',
  subtract: 'users.balance.subtractAmount',
  override: 'users.balance.setAmount',
} as const satisfies Record<Mode, TextKey>;
const reasons = ['topup', 'refund', 'correction', 'other'] as const;
type Reason = (typeof reasons)[number];
/** `reason` is empty until one is chosen: then the usual one of the mode stands for it. */
type BalanceValues = { mode: Mode; value: string; reason: Reason | ''; note: string; task_id: string };
type BalanceRequest = { mode: Mode; value: number | null; reason: Reason; note?: string; task_id?: string };
type BalanceDialogProps = { account: Account; isOpen: boolean; onClose(): void };
type BalanceChange = ReturnType<typeof useBalanceChange>;

function BalanceDialog({ account, isOpen, onClose }: BalanceDialogProps) {
  const { t } = useTranslation();
  const change = useBalanceChange(account, onClose);
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={() => {
        change.reset();
        onClose();
      }}
      title={t('users.balanceOf', { name: account.username })}
      size="md"
    >
      <BalanceForm account={account} change={change} />
    </FormDialog>
  );
}

/**
 * Lives as long as the account page, not as the dialog: a request with an unknown outcome keeps its
 * idempotency key when it is repeated, until the balance changes or an outcome is known.
 */
function useBalanceChange(account: Account, onDone: () => void) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const [settledCount, setSettledCount] = useState(0);
  const key = useMemo(createIdempotencyKey, [account.quota, settledCount]);
  return useApiMutation<BalanceRequest>({
    request: (asked) => ({
      method: 'POST',
      path: '/api/user/manage',
      body: { id: account.id, action: 'add_quota', ...asked, idempotency_key: `${key}-${asked.mode}-${asked.value}` },
    }),
    invalidates: ['/api/user'],
    onResponse: () => setSettledCount((count) => count + 1),
    onSuccess: () => {
      notifySuccess(t('users.balanceChanged', { name: account.username }));
      onDone();
    },
    onError: (error) => {
      if (isOutcomeKnown(error)) setSettledCount((count) => count + 1);
      else void queries.invalidateQueries({ queryKey: ['api', `/api/user/${account.id}`] });
    },
  });
}

type BalanceFormProps = { account: Account; change: BalanceChange };

/** Adds to, subtracts from or sets the balance, and previews the result. */
function BalanceForm({ account, change }: BalanceFormProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const form = useForm<BalanceValues, BalanceRequest>({
    initial: { mode: 'add', value: '', reason: '', note: '', task_id: '' },
    validate: (values) => ({
      value: toQuota(values.value) === null ? t('users.amountInvalid') : null,
      note: readReason(values) === 'other' && values.note.trim() === '' ? t('users.balance.noteMissing') : null,
    }),
    toVariables: (values) => ({
      mode: values.mode,
      value: toQuota(values.value),
      reason: readReason(values),
      ...(values.note.trim() === '' ? {} : { note: values.note.trim() }),
      ...(values.task_id.trim() === '' ? {} : { task_id: values.task_id.trim() }),
    }),
    change,
  });
  const { mode, value } = form.values;
  const amount = toQuota(value);
  const changes = {
    add: account.quota + (amount ?? 0),
    subtract: account.quota - (amount ?? 0),
    override: amount ?? 0,
  };
  const after = amount === null ? account.quota : changes[mode];
  const difference = after - account.quota;
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Text size="sm">{t('users.balanceNow', { amount: format.exactMoney(account.quota) })}</Text>
        <SegmentedControl
          aria-label={t('users.balanceHow')}
          value={mode}
          onChange={(next) => form.set('mode', next as Mode)}
          data={[
            { value: 'add', label: t('users.balance.add') },
            { value: 'subtract', label: t('users.balance.subtract') },
            { value: 'override', label: t('users.balance.set') },
          ]}
          fullWidth
        />
        <MoneyField
          label={t(mode === 'override' ? 'users.balance.to' : 'users.amount')}
          data-autofocus
          {...form.bindValue('value')}
        />
        <Text size="sm" aria-live="polite">
          {t('users.balancePreview', { amount: format.exactMoney(after) })}
          {difference !== 0 && ` (${withSign(difference, format.exactMoney)})`}
        </Text>
        {after < 0 && (
          <Text size="sm" c="dimmed">
            {t('users.balanceNegative')}
          </Text>
        )}
        <Select
          label={t('users.balance.reason')}
          allowDeselect={false}
          data={reasons.map((reason) => ({ value: reason, label: t(`ledger.kind.${reason}`) }))}
          value={readReason(form.values)}
          onChange={(reason) => form.set('reason', (reason ?? '') as Reason | '')}
        />
        <TextInput
          label={t(readReason(form.values) === 'other' ? 'users.balance.note' : 'users.balance.noteOptional')}
          description={t('users.balance.noteHelp')}
          maxLength={255}
          {...form.bind('note')}
        />
        <TextInput
          label={t('users.balance.task')}
          description={t('users.balance.taskHelp')}
          autoComplete="off"
          spellCheck={false}
          {...form.bind('task_id')}
        />
        <FormDialogButtons
          action={
            amount === null ? t('users.changeBalance') : t(actionTexts[mode], { amount: format.exactMoney(amount) })
          }
          isPending={form.isPending}
          isDisabled={amount === null}
        />
      </Stack>
    </form>
  );
}

const readReason = ({ mode, reason }: BalanceValues): Reason => reason || (mode === 'add' ? 'topup' : 'correction');
