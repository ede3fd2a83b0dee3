import { Anchor, Button, Group, Stack, Switch, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert, BalanceAlertFields, Option, SavedBalanceAlert } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
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
  const alert = useApiQuery<BalanceAlert>(path);
  const isRoot = useRole() >= roles.root;
  return (
    <Page heading={t('nav.notifications')} intro={t('notifications.intro')}>
      <div>
        <SettingsBlock heading={t('notifications.browser')} intro={t('notifications.browserIntro')}>
          <BrowserNoticeSwitch />
        </SettingsBlock>
        <QueryResult query={alert}>{(loaded) => <LowBalance alert={loaded} />}</QueryResult>
        <LinkedBlock
          heading={t('notifications.taskWebhooks')}
          intro={t('profile.webhooks')}
          to="/keys"
          action={t('profile.webhooks.action')}
        />
        {isRoot && <GatewayAlerts canMail={alert.data?.can_mail ?? true} />}
      </div>
    </Page>
  );
}

/** Mails to administrators, which only the root account turns on and off. */
function GatewayAlerts({ canMail }: { canMail: boolean }) {
  const { t } = useTranslation();
  const { data: options } = useApiQuery<Option[]>('/api/option');
  return (
    <LinkedBlock
      heading={t('notifications.gateway')}
      intro={t('notifications.gatewayIntro')}
      to="/settings/alerts"
      action={t('notifications.gatewayAction')}
    >
      {options !== undefined && <AlertState options={options} canMail={canMail} />}
    </LinkedBlock>
  );
}

/** Whether alerts are on, and what is missing for them to reach the reader. */
function AlertState({ options, canMail }: { options: readonly Option[]; canMail: boolean }) {
  const { t } = useTranslation();
  const isSet = (key: string): boolean =>
    !['', 'false'].includes(options.find((each) => each.key === key)?.value ?? '');
  const hasWebhook = isSet('alerts.webhook_url') && isSet('alerts.webhook_secret');
  if (!hasWebhook && !isSet('alerts.failing_channels')) {
    return <StatusLabel tone="quiet">{t('notifications.gatewayOff')}</StatusLabel>;
  }
  if (hasWebhook || canMail) return <StatusLabel tone="good">{t('notifications.gatewayOn')}</StatusLabel>;
  const sendsMail = isSet('SMTPServer') && isSet('SMTPFrom');
  return (
    <div>
      <StatusLabel tone="waiting">{t('notifications.gatewayUnreached')}</StatusLabel>
      <Text size="sm" c="dimmed" mt={6} lh={1.6}>
        {t(sendsMail ? 'notifications.noAddress' : 'notifications.noMailServer')}{' '}
        <Anchor component={Link} to={sendsMail ? '/profile' : '/settings/mail'} inherit underline="always">
          {t(sendsMail ? 'notifications.addAddress' : 'notifications.setUpMail')}
        </Anchor>
      </Text>
    </div>
  );
}

type LinkedBlockProps = { heading: string; intro: string; to: string; action: string; children?: ReactNode };

/** What is set on another page. */
function LinkedBlock({ to, action, children, ...block }: LinkedBlockProps) {
  return (
    <SettingsBlock {...block}>
      {children}
      <Group>
        <Button component={Link} to={to} variant="default">
          {action}
        </Button>
      </Group>
    </SettingsBlock>
  );
}

const path = '/api/user/self/balance-alert';

/** When the user is warned of a low balance, and how. */
function LowBalance({ alert }: { alert: BalanceAlert }) {
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
  const choose = useApiMutation<BalanceAlertFields, SavedBalanceAlert>({
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: [path],
  });
  const isOn = appliedThreshold(alert) > 0;
  const usual = alert.default_threshold > 0 ? null : toQuota(proposedUsd);
  return (
    <>
      {choose.isError && <ErrorNotice error={choose.error} />}
      <Switch
        checked={choose.isPending ? !isOn : isOn}
        onChange={(event) => choose.mutate({ threshold: event.currentTarget.checked ? usual : 0 })}
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
  mail: boolean;
  webhook_url: string;
};

/** The amount that a warning begins with where the operator has set none. */
const proposedUsd = '5';

/** Quota; 0 where the warning is off. */
const appliedThreshold = ({ threshold, default_threshold: usual }: BalanceAlert): number => threshold ?? usual;

const toAlertValues = (alert: BalanceAlert): AlertValues => ({
  threshold: toDollars(appliedThreshold(alert)),
  mail: alert.mail,
  webhook_url: alert.webhook_url ?? '',
});

/** Only what was changed: the operator's default stays one until another amount is chosen. */
const toAlertFields = (values: AlertValues, before: AlertValues): BalanceAlertFields => ({
  ...(values.threshold === before.threshold ? {} : { threshold: toQuota(values.threshold) ?? 0 }),
  ...(values.mail === before.mail ? {} : { mail: values.mail }),
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
