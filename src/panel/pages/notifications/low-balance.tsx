import { Button, Group, Stack, Switch, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useState } from 'react';
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
import { SaveForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { WebhookInput } from '../keys/key-webhook.tsx';
import { attemptError } from '../tasks/read-task.ts';
import { balanceAlertPath as path } from './low-balance-note.tsx';

/** When the user is warned of a low balance, and how. */
export function LowBalance({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  return (
    <SettingsBlock heading={t('notifications.balance')} intro={t('notifications.balanceIntro')}>
      <BalanceState alert={alert} />
      {alert.is_offered ? (
        <LowBalanceChoice alert={alert} />
      ) : (
        <Text size="sm" c="dimmed" lh={1.6}>
          {t('notifications.notOffered')}
        </Text>
      )}
    </SettingsBlock>
  );
}

/** Turns the warning on and off at once; the form that then unfolds says when and how. */
function LowBalanceChoice({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const choose = useAlertChoice();
  const isOn = appliedThreshold(alert) > 0;
  return (
    <>
      {choose.isError && <ErrorNotice error={choose.error} />}
      <Switch
        checked={choose.isPending ? !isOn : isOn}
        onChange={(event) => choose.mutate({ threshold: event.currentTarget.checked ? usualThreshold(alert) : 0 })}
        label={t('notifications.warn')}
        description={isOn ? null : t('notifications.warnHelp')}
      />
      {isOn && <LowBalanceForm alert={alert} />}
    </>
  );
}

function LowBalanceForm({ alert }: { alert: BalanceAlert }) {
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
    },
  });
  const form = useForm<AlertValues, BalanceAlertFields>({
    initial: toAlertValues(alert),
    validate: (values) => validateAlert(values, t),
    toVariables: toAlertFields,
    change: save,
  });
  return (
    <>
      <SaveForm form={form} maxWidth={460}>
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
      </SaveForm>
      {secret !== null && (
        <OneTimeSecret heading={t('keys.secret.once')} text={t('notifications.secretText')} secret={secret} />
      )}
      {secret === null && alert.webhook_url !== null && <AlertSecret alert={alert} onCreated={setSecret} />}
    </>
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
  /** US dollars. */
  threshold: string;
  webhook_url: string;
};

/** The amount that a warning begins with where the operator has set none. */
const proposedUsd = '5';

/** Quota; 0 where the warning is off. */
export const appliedThreshold = ({ threshold, default_threshold: usual }: BalanceAlert): number => threshold ?? usual;

/** What a warning that is turned on begins with; null is the operator's default. */
export const usualThreshold = ({ default_threshold: usual }: BalanceAlert): number | null =>
  usual > 0 ? null : toQuota(proposedUsd);

/** Changes the warning at once. */
export const useAlertChoice = () =>
  useApiMutation<BalanceAlertFields, SavedBalanceAlert>({
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: [path],
  });

const toAlertValues = (alert: BalanceAlert): AlertValues => ({
  threshold: toDollars(appliedThreshold(alert)),
  webhook_url: alert.webhook_url ?? '',
});

/** Only what was changed: the operator's default stays one until another amount is chosen. */
const toAlertFields = (values: AlertValues, before: AlertValues): BalanceAlertFields => ({
  ...(values.threshold === before.threshold ? {} : { threshold: toQuota(values.threshold) ?? 0 }),
  ...(values.webhook_url === before.webhook_url ? {} : { webhook_url: values.webhook_url.trim() || null }),
});

const validateAlert = ({ threshold, webhook_url: url }: AlertValues, t: TFunction) => ({
  threshold: !toQuota(threshold) ? t('notifications.thresholdMissing') : null,
  webhook_url: url.trim() === '' || /^https?:\/\/[^/]/i.test(url.trim()) ? null : t('keys.webhookInvalid'),
});

/** Shows the balance, whether it is low, and whether the last warning was delivered. */
function BalanceState({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const format = useFormat();
  const { balance, is_low: isLow, warned_at: warnedAt, last_delivery: delivery } = alert;
  return (
    <Stack gap={6}>
      <Text size="sm" component="div">
        {t('notifications.available', { amount: format.money(balance) })}
      </Text>
      {isLow && (
        <StatusLabel tone="waiting">
          {warnedAt === 0 ? t('notifications.low') : t('notifications.lowWarned', { time: format.ago(warnedAt) })}
        </StatusLabel>
      )}
      {delivery !== null && delivery.status === 'delivered' && (
        <StatusLabel tone="good">{t('notifications.delivered', { time: format.ago(delivery.at) })}</StatusLabel>
      )}
      {delivery !== null && delivery.status !== 'delivered' && (
        <StatusLabel tone="bad">
          {t('notifications.undelivered', {
            time: format.ago(delivery.at),
            answer: delivery.http_status === 0 ? attemptError(delivery.error, t) : String(delivery.http_status),
          })}
        </StatusLabel>
      )}
    </Stack>
  );
}
