import { Button, Group, Modal, NumberInput, SegmentedControl, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Account } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { makeRequestKey } from '../../ui/make-request-key.ts';
import { tellDone } from '../../ui/tell.ts';
import { useForm } from '../../ui/use-form.ts';
import { useFormat } from '../../ui/use-format.ts';
import { readDollars } from './user-values.ts';

type Mode = 'add' | 'subtract' | 'override';
type BalanceValues = { mode: Mode; value: number | string };
type BalanceDialogProps = { account: Account; isOpen: boolean; onClose(): void };

export function BalanceDialog({ account, isOpen, onClose }: BalanceDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t('users.balanceOf', { name: account.username })}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <BalanceForm account={account} onClose={onClose} />
    </Modal>
  );
}

/** Adds, subtracts or sets, and says before what the balance will be. A request that is sent twice counts once. */
function BalanceForm({ account, onClose }: Omit<BalanceDialogProps, 'isOpen'>) {
  const { t } = useTranslation();
  const format = useFormat();
  const [key] = useState(makeRequestKey);
  const change = useChange<Record<string, unknown>>({
    request: (body) => ({ method: 'POST', path: '/api/user/manage', body }),
    stale: ['/api/user'],
    onSuccess: () => {
      tellDone(t('users.balanceChanged', { name: account.username }));
      onClose();
    },
  });
  const form = useForm<BalanceValues, Record<string, unknown>>({
    initial: { mode: 'add', value: '' },
    check: ({ value }) => ({ value: readDollars(value) === null ? t('users.amountInvalid') : null }),
    read: ({ mode, value }) => ({
      id: account.id,
      action: 'add_quota',
      mode,
      value: readDollars(value),
      idempotency_key: `${key}-${mode}-${value}`,
    }),
    change,
  });
  const { mode, value } = form.values;
  const amount = readDollars(value) ?? 0;
  const after = { add: account.quota + amount, subtract: account.quota - amount, override: amount }[mode];
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="md">
        {form.error !== null && <FailureNotice error={form.error} />}
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
        <NumberInput
          label={t(mode === 'override' ? 'users.balance.to' : 'users.amount')}
          prefix="$"
          min={0}
          decimalScale={6}
          thousandSeparator
          hideControls
          data-autofocus
          {...form.bindValue('value')}
        />
        <Text size="sm" aria-live="polite">
          {t('users.balancePreview', { before: format.money(account.quota), after: format.money(after) })}
        </Text>
        {after < 0 && (
          <Text size="sm" c="dimmed">
            {t('users.balanceNegative')}
          </Text>
        )}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={form.isPending}>
            {t('users.changeBalance')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
