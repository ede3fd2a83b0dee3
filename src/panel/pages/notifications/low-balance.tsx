import { Anchor, Button, Group, Stack, Switch, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { BalanceAlert, BalanceAlertFields, SavedBalanceAlert } from '../../api/types.ts';
import { useApiMutation } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { toDollars, toQuota } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { WebhookInput } from '../keys/key-webhook.tsx';
import { attemptError } from '../tasks/read-task.ts';
import { AtText, type EventRow, OnOff } from './event-row.tsx';
import { balanceAlertPath as path } from './low-balance-note.tsx';
import classes from './notifications.module.css';

/**
 * The row of a low balance, and the dialog that its buttons open. `noMail`: why the account gets no
 * email.
 */
export function useLowBalanceRow(alert: BalanceAlert, noMail: ReactNode): { row: EventRow; dialog: ReactNode } {
  const { t } = useTranslation();
  const [isEditing, setEditing] = useState(false);
  const isOn = appliedThreshold(alert) > 0;
  const hasWebhook = isOn && alert.webhook_url !== null;
  const edit = (text: string, way: string) => (
    <Anchor
      component="button"
      type="button"
      inherit
      className={classes.action ?? ''}
      aria-label={`${text}: ${t('notifications.balance')}, ${way}`}
      onClick={() => setEditing(true)}
    >
      {text}
    </Anchor>
  );
  const row: EventRow = {
    name: t('notifications.balance'),
    text: t('notifications.balanceRow'),
    note: alert.is_offered ? (
      <BalanceState
        alert={alert}
        action={isOn && edit(t('app.edit'), t('notifications.threshold'))}
        noMail={alert.can_mail ? null : noMail}
      />
    ) : (
      t('notifications.notOffered')
    ),
    email: alert.is_offered && (
      <AtText>
        <LowBalanceMail alert={alert} />
      </AtText>
    ),
    webhook: alert.is_offered && (
      <OnOff
        isOn={hasWebhook}
        action={edit(t(hasWebhook ? 'app.edit' : 'security.twoFactor.setUp'), t('keys.webhook'))}
      />
    ),
  };
  const dialog = (
    <FormDialog isOpen={isEditing} onClose={() => setEditing(false)} title={t('notifications.balance')} size="lg">
      <LowBalanceForm alert={alert} onClose={() => setEditing(false)} />
    </FormDialog>
  );
  return { row, dialog };
}

/** Emails of a low balance. The first way that is chosen also turns the warning on. */
function LowBalanceMail({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const choose = useApiMutation<BalanceAlertFields, SavedBalanceAlert>({
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: [path],
  });
  const isWarned = appliedThreshold(alert) > 0;
  const isOn = isWarned && alert.mail;
  const threshold = isWarned ? {} : { threshold: usualThreshold(alert) };
  return (
    <>
      <Switch
        aria-label={`${t('notifications.balance')}: ${t('account.email')}`}
        checked={choose.isPending ? !isOn : isOn}
        disabled={!alert.can_mail && !isOn}
        onChange={({ currentTarget }) =>
          choose.mutate(currentTarget.checked ? { mail: true, ...threshold } : { mail: false })
        }
      />
      {choose.isError && <ErrorNotice error={choose.error} />}
    </>
  );
}

/** When and where the warning goes. One that is off is proposed as on: it was opened for that. */
function LowBalanceForm({ alert, onClose }: { alert: BalanceAlert; onClose(): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const [secret, setSecret] = useState<string | null>(null);
  const save = useApiMutation<BalanceAlertFields, SavedBalanceAlert>({
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: [path],
    // The secret is shown only once, so it is taken before anything is refetched.
    onResponse: ({ new_secret: created }) => created !== null && setSecret(created),
    onSuccess: (saved) => {
      form.reset(toAlertValues(saved));
      notifySuccess(t('app.saved'));
      if (saved.new_secret === null) onClose();
    },
  });
  const form = useForm<AlertValues, BalanceAlertFields>({
    initial: toAlertValues(alert),
    validate: (values) => validateAlert(values, t),
    toVariables: (values, before) => toAlertFields(values, before, alert),
    change: save,
  });
  if (secret !== null)
    return (
      <OneTimeSecret heading={t('keys.secret.once')} text={t('notifications.secretText')} secret={secret}>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('app.close')}
          </Button>
        </Group>
      </OneTimeSecret>
    );
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap={20}>
        {form.error !== null && <ErrorNotice error={form.error} />}
        <Switch
          {...form.bindChecked('isOn')}
          label={t('notifications.warn')}
          description={t('notifications.balanceIntro')}
        />
        {form.values.isOn && (
          <>
            <MoneyField
              {...form.bindValue('threshold')}
              label={t('notifications.threshold')}
              description={
                alert.default_threshold > 0
                  ? t('notifications.thresholdDefault', { amount: format.money(alert.default_threshold) })
                  : t('notifications.thresholdHelp')
              }
              styles={{ wrapper: { maxWidth: 220 } }}
            />
            <WebhookInput {...form.bind('webhook_url')} help={t('notifications.webhookHelp')} />
            {alert.webhook_url !== null && <AlertSecret alert={alert} onCreated={setSecret} />}
          </>
        )}
        <FormDialogButtons action={t('app.save')} isPending={form.isPending} />
      </Stack>
    </form>
  );
}

/** Whether the webhook is signed, and another secret for it. */
function AlertSecret({ alert, onCreated }: { alert: BalanceAlert; onCreated(secret: string): void }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const rotate = useApiMutation<void, SavedBalanceAlert>({
    request: () => ({ method: 'POST', path: `${path}/webhook-secret` }),
    invalidates: [path],
    onResponse: ({ new_secret: created }) => created !== null && onCreated(created),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('keys.secret.rotateTitle'),
      text: t('notifications.rotateText'),
      action: t('keys.secret.rotate'),
      destructive: false,
    };
    if (await confirm(question)) rotate.mutate();
  };
  return (
    <Stack gap="sm">
      {rotate.isError && <ErrorNotice error={rotate.error} />}
      <Text size="sm" c="dimmed" lh={1.6}>
        {t(alert.webhook_secret === 'unreadable' ? 'keys.secret.unreadable' : 'keys.secret.ready')}
      </Text>
      <Group>
        <Button variant="default" loading={rotate.isPending} onClick={() => void ask()}>
          {t('keys.secret.rotate')}
        </Button>
      </Group>
    </Stack>
  );
}

type AlertValues = {
  isOn: boolean;
  /** US dollars. */
  threshold: string;
  webhook_url: string;
};

/** The amount that a warning begins with where the operator has set none. */
const proposedUsd = '5';

/** Quota; 0 where the warning is off. */
const appliedThreshold = ({ threshold, default_threshold: usual }: BalanceAlert): number => threshold ?? usual;

/** What a warning that is turned on begins with; null is the operator's default. */
const usualThreshold = ({ default_threshold: usual }: BalanceAlert): number | null =>
  usual > 0 ? null : toQuota(proposedUsd);

const toAlertValues = (alert: BalanceAlert): AlertValues => ({
  isOn: true,
  threshold: toDollars(appliedThreshold(alert) || (usualThreshold(alert) ?? alert.default_threshold)),
  webhook_url: alert.webhook_url ?? '',
});

/** Only what was changed: the operator's default stays one until another amount is chosen. */
function toAlertFields(values: AlertValues, before: AlertValues, alert: BalanceAlert): BalanceAlertFields {
  if (!values.isOn) return { threshold: 0 };
  const isSameAmount = values.threshold === before.threshold;
  const isTurnedOn = appliedThreshold(alert) === 0;
  return {
    ...(isSameAmount ? {} : { threshold: toQuota(values.threshold) ?? 0 }),
    ...(isSameAmount && isTurnedOn ? { threshold: usualThreshold(alert) } : {}),
    ...(values.webhook_url === before.webhook_url ? {} : { webhook_url: values.webhook_url.trim() || null }),
  };
}

const validateAlert = ({ isOn, threshold, webhook_url: url }: AlertValues, t: TFunction) => ({
  threshold: isOn && !toQuota(threshold) ? t('notifications.thresholdMissing') : null,
  webhook_url: !isOn || url.trim() === '' || /^https?:\/\/[^/]/i.test(url.trim()) ? null : t('keys.webhookInvalid'),
});

type BalanceStateProps = { alert: BalanceAlert; action: ReactNode; noMail: ReactNode };

/** The amount, the balance, whether it is low, and whether the last warning was delivered. */
function BalanceState({ alert, action, noMail }: BalanceStateProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const { balance, is_low: isLow, warned_at: warnedAt, last_delivery: delivery } = alert;
  const threshold = appliedThreshold(alert);
  return (
    <Stack gap={4}>
      <span>
        {threshold > 0 && `${t('notifications.threshold')} ${format.money(threshold)} · `}
        {t('notifications.available', { amount: format.money(balance) })}
        {action && ' · '}
        {action}
      </span>
      {noMail && <span>{noMail}</span>}
      {isLow && (
        <StatusLabel tone="waiting" wraps>
          {warnedAt === 0 ? t('notifications.low') : t('notifications.lowWarned', { time: format.ago(warnedAt) })}
        </StatusLabel>
      )}
      {delivery !== null && delivery.status === 'delivered' && (
        <StatusLabel tone="good" wraps>
          {t('notifications.delivered', { time: format.ago(delivery.at) })}
        </StatusLabel>
      )}
      {delivery !== null && delivery.status !== 'delivered' && (
        <StatusLabel tone="bad" wraps>
          {t('notifications.undelivered', {
            time: format.ago(delivery.at),
            answer: delivery.http_status === 0 ? attemptError(delivery.error, t) : String(delivery.http_status),
          })}
        </StatusLabel>
      )}
    </Stack>
  );
}
