import { Anchor, Switch, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert, Option } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { BrowserNoticeSwitch, useBrowserNoticeHelp } from './browser-notices.tsx';
import { appliedThreshold, useAlertChoice, usualThreshold } from './low-balance.tsx';

/** What the user may learn of, and whether it comes by each way; empty where it never does. */
type EventRow = {
  name: string;
  /** When it happens. */
  text: string;
  /** What is missing for it to arrive, or where it is set. */
  note?: ReactNode;
  browser?: ReactNode;
  email?: ReactNode;
  webhook?: ReactNode;
};

/** Events as rows, the ways to learn of them as columns. */
export function NotificationMatrix({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  const browserHelp = useBrowserNoticeHelp();
  const gateway = useGatewayAlerts({ canMail: alert.can_mail, enabled: isRoot });
  const rows: EventRow[] = [
    {
      name: t('notifications.browser'),
      text: t('notifications.browserIntro'),
      note: browserHelp,
      browser: <BrowserNoticeSwitch isBare />,
      webhook: (
        <Anchor component={Link} to="/keys" inherit>
          {t('profile.webhooks.action')}
        </Anchor>
      ),
    },
    {
      name: t('notifications.balance'),
      text: t('notifications.balanceRow'),
      note: alert.is_offered && !alert.can_mail && (
        <>
          {t('notifications.noMail')} <NoteLink to="/profile">{t('nav.profile')}</NoteLink>
        </>
      ),
      email: alert.is_offered && <LowBalanceMail alert={alert} />,
      webhook: alert.is_offered && <OnOff isOn={appliedThreshold(alert) > 0 && alert.webhook_url !== null} />,
    },
    ...(isRoot ? [gateway] : []),
  ];
  const columns: readonly Column<EventRow>[] = [
    {
      key: 'event',
      heading: t('notifications.event'),
      wide: true,
      render: ({ name, text, note }) => (
        <>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          <Text size="sm" c="dimmed">
            {text}
          </Text>
          {note && (
            <Text size="xs" c="dimmed" mt={4} component="div">
              {note}
            </Text>
          )}
        </>
      ),
    },
    { key: 'browser', heading: t('notifications.byBrowser'), render: ({ browser }) => browser },
    { key: 'email', heading: t('account.email'), render: ({ email }) => email },
    { key: 'webhook', heading: t('keys.webhook'), render: ({ webhook }) => webhook },
  ];
  return <PlainTable label={t('nav.notifications')} columns={columns} rows={rows} rowKey={({ name }) => name} />;
}

const NoteLink = ({ to, children }: { to: string; children: string }) => (
  <Anchor component={Link} to={to} inherit underline="always">
    {children}
  </Anchor>
);

/** What is set elsewhere. */
function OnOff({ isOn }: { isOn: boolean }) {
  const { t } = useTranslation();
  return (
    <StatusLabel tone={isOn ? 'good' : 'quiet'}>
      {t(isOn ? 'notifications.gatewayOn' : 'notifications.gatewayOff')}
    </StatusLabel>
  );
}

/** Emails of a low balance. The first way that is chosen also turns the warning on. */
function LowBalanceMail({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const choose = useAlertChoice();
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

/** Alerts to administrators, which only the root account turns on and off. */
function useGatewayAlerts({ canMail, enabled }: { canMail: boolean; enabled: boolean }): EventRow {
  const { t } = useTranslation();
  const { data: options } = useApiQuery<Option[]>('/api/option', { enabled });
  const isSet = (key: string): boolean =>
    !['', 'false'].includes(options?.find((each) => each.key === key)?.value ?? '');
  const hasWebhook = isSet('alerts.webhook_url') && isSet('alerts.webhook_secret');
  const hasMail = isSet('alerts.failing_channels');
  const sendsMail = isSet('SMTPServer') && isSet('SMTPFrom');
  const isUnreached = hasMail && !hasWebhook && !canMail;
  return {
    name: t('notifications.gateway'),
    text: t('notifications.gatewayIntro'),
    note: (
      <>
        {options !== undefined && isUnreached && (
          <>
            {t(sendsMail ? 'notifications.noAddress' : 'notifications.noMailServer')}{' '}
            <NoteLink to={sendsMail ? '/profile' : '/settings/mail'}>
              {t(sendsMail ? 'notifications.addAddress' : 'notifications.setUpMail')}
            </NoteLink>
            {' · '}
          </>
        )}
        <NoteLink to="/settings/alerts">{t('notifications.gatewayAction')}</NoteLink>
      </>
    ),
    email:
      options !== undefined &&
      (isUnreached ? (
        <StatusLabel tone="waiting">{t('notifications.gatewayUnreached')}</StatusLabel>
      ) : (
        <OnOff isOn={hasMail} />
      )),
    webhook: options !== undefined && <OnOff isOn={hasWebhook} />,
  };
}
