import { Anchor, Button, Group, Stack, Switch, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert, BalanceAlertFields, SavedBalanceAlert } from '../../api/types.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { toDollars, toQuota } from '../../ui/form/decimal.ts';
import { MoneyField } from '../../ui/form/decimal-field.tsx';
import { SaveForm } from '../../ui/form/inline-form.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { WebhookInput } from '../keys/key-webhook.tsx';
import { attemptError } from '../tasks/read-task.ts';
import { BrowserNoticeSwitch } from './browser-notices.tsx';

/** What the user learns of, and how. */
export function NotificationsPage() {
  const { t } = useTranslation();
  const alert = useApiQuery<BalanceAlert>('/api/user/self/balance-alert');
  return (
    <Page heading={t('nav.notifications')} intro={t('notifications.intro')}>
      <div>
        <SettingsBlock heading={t('notifications.browser')} intro={t('notifications.browserIntro')}>
          <BrowserNoticeSwitch />
        </SettingsBlock>
        <QueryResult query={alert}>{(loaded) => <LowBalance alert={loaded} />}</QueryResult>
        <SettingsBlock heading={t('keys.webhook')}>
          <Text size="sm" lh={1.6}>
            {t('profile.webhooks')}
          </Text>
          <Group>
            <Button component={Link} to="/keys" variant="default">
              {t('profile.webhooks.action')}
            </Button>
          </Group>
        </SettingsBlock>
      </div>
    </Page>
  );
}

const path = '/api/user/self/balance-alert';

/** When the user is warned of a low balance, and how. */
export function LowBalance({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  return (
    <SettingsBlock heading={t('notifications.balance')} intro={t('notifications.balanceIntro')}>
      <BalanceState alert={alert} />
      {alert.is_offered ? (
        <LowBalanceForm alert={alert} />
      ) : (
        <Text size="sm" c="dimmed" lh={1.6}>
          {t('notifications.notOffered')}
        </Text>
      )}
    </SettingsBlock>
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
  const { isOn } = form.values;
  return (
    <>
      <SaveForm form={form} maxWidth={460}>
        <Switch
          {...form.bindChecked('isOn')}
          label={t('notifications.warn')}
          description={t('notifications.warnHelp')}
        />
        {isOn && (
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
            <Switch
              {...form.bindChecked('mail')}
              disabled={!alert.can_mail}
              label={t('notifications.mail')}
              description={
                alert.can_mail ? (
                  t('notifications.mailHelp')
                ) : (
                  <>
                    {t('notifications.noMail')}{' '}
                    <Anchor component={Link} to="/profile" inherit underline="always">
                      {t('nav.profile')}
                    </Anchor>
                  </>
                )
              }
            />
            <WebhookInput {...form.bind('webhook_url')} help={t('notifications.webhookHelp')} />
          </>
        )}
      </SaveForm>
      {secret !== null && (
        <OneTimeSecret heading={t('keys.secret.once')} text={t('notifications.secretText')} secret={secret} />
      )}
      {secret === null && isOn && alert.webhook_url !== null && <AlertSecret alert={alert} onCreated={setSecret} />}
    </>
  );
}

/** Whether the webhook is signed, and another secret for it. */
function AlertSecret({ alert, onCreated }: { alert: BalanceAlert; onCreated(secret: string): void }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const rotate = useApiMutation<void, SavedBalanceAlert>({
    request: () => ({ method: 'POST', path: '/api/user/self/balance-alert/webhook-secret' }),
    invalidates: ['/api/user/self/balance-alert'],
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
  mail: boolean;
  webhook_url: string;
};

/** Proposed to who turns the warning on where the operator has no default. */
const proposedUsd = '5';

function toAlertValues(alert: BalanceAlert): AlertValues {
  const applied = alert.threshold ?? alert.default_threshold;
  const shown = applied || alert.default_threshold;
  return {
    isOn: applied > 0,
    threshold: shown > 0 ? toDollars(shown) : proposedUsd,
    mail: alert.mail,
    webhook_url: alert.webhook_url ?? '',
  };
}

/** Only what was changed: the operator's default stays one until another amount is chosen. */
function toAlertFields(values: AlertValues, before: AlertValues): BalanceAlertFields {
  const isAmountNew = values.isOn !== before.isOn || values.threshold !== before.threshold;
  return {
    ...(isAmountNew ? { threshold: values.isOn ? (toQuota(values.threshold) ?? 0) : 0 } : {}),
    ...(values.mail === before.mail ? {} : { mail: values.mail }),
    ...(values.webhook_url === before.webhook_url ? {} : { webhook_url: values.webhook_url.trim() || null }),
  };
}

const validateAlert = ({ isOn, threshold, webhook_url: url }: AlertValues, t: TFunction) => ({
  threshold: isOn && !toQuota(threshold) ? t('notifications.thresholdMissing') : null,
  webhook_url: url.trim() === '' || /^https?:\/\/[^/]/i.test(url.trim()) ? null : t('keys.webhookInvalid'),
});

/** The balance, whether it is low, and what became of the last warning. */
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
