import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { BalanceAlert, Option } from '../../api/types.ts';
import { roles, useRole } from '../../session/roles.ts';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { useApiQuery } from '../../session/use-api.ts';
import { StatusLabel } from '../../ui/display/status-label.tsx';
import { type Column, PlainTable } from '../../ui/table/data-table.tsx';
import { BrowserNoticeSwitch, useBrowserNoticeHelp } from './browser-notices.tsx';
import { AtText, type EventRow, NoMail, NoteLink, OnOff } from './event-row.tsx';
import { useLowBalanceRow } from './low-balance.tsx';
import classes from './notifications.module.css';

/** Events as rows, the ways to learn of them as columns. */
export function NotificationMatrix({ alert }: { alert: BalanceAlert }) {
  const { t } = useTranslation();
  const isRoot = useRole() >= roles.root;
  const browserHelp = useBrowserNoticeHelp();
  const { data: options } = useApiQuery<Option[]>('/api/option', { enabled: isRoot });
  const noMail = useNoMail({ canMail: alert.can_mail, options });
  const lowBalance = useLowBalanceRow(alert, noMail);
  const gateway = useGatewayAlerts({ canMail: alert.can_mail, options, noMail });
  const rows: EventRow[] = [
    {
      name: t('notifications.browser'),
      text: t('notifications.browserIntro'),
      note: browserHelp,
      browser: (
        <AtText>
          <BrowserNoticeSwitch isBare />
        </AtText>
      ),
      webhook: (
        <Anchor component={Link} to="/keys" inherit>
          {t('profile.webhooks.action')}
        </Anchor>
      ),
    },
    lowBalance.row,
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
  return (
    <div className={classes.events}>
      <PlainTable label={t('nav.notifications')} columns={columns} rows={rows} rowKey={({ name }) => name} />
      {lowBalance.dialog}
    </div>
  );
}

const isSet = (options: readonly Option[], key: string): boolean =>
  !['', 'false'].includes(options.find((each) => each.key === key)?.value ?? '');

/**
 * Why the account gets no email; null where it does. Only the root account learns whether the
 * gateway sends any while the account has no address.
 */
function useNoMail({ canMail, options }: { canMail: boolean; options: readonly Option[] | undefined }) {
  const { bundle } = useSessionSnapshot();
  const isRoot = useRole() >= roles.root;
  if (canMail || (isRoot && options === undefined)) return null;
  const hasAddress = Boolean(bundle?.user.email);
  const sendsMail = options !== undefined && isSet(options, 'SMTPServer') && isSet(options, 'SMTPFrom');
  const isServer = options === undefined ? hasAddress : !sendsMail;
  return <NoMail cause={isServer ? 'server' : 'address'} isRoot={isRoot} />;
}

type GatewayAlertsInput = { canMail: boolean; options: readonly Option[] | undefined; noMail: EventRow['note'] };

/** Alerts to administrators, which only the root account turns on and off. */
function useGatewayAlerts({ canMail, options, noMail }: GatewayAlertsInput): EventRow {
  const { t } = useTranslation();
  const hasWebhook =
    options !== undefined && isSet(options, 'alerts.webhook_url') && isSet(options, 'alerts.webhook_secret');
  const hasMail = options !== undefined && isSet(options, 'alerts.failing_channels');
  const isUnreached = hasMail && !hasWebhook && !canMail;
  const setUp = (way: string) => (
    <Anchor
      component={Link}
      to="/settings/alerts"
      inherit
      className={classes.action ?? ''}
      aria-label={`${t('security.twoFactor.setUp')}: ${t('notifications.gateway')}, ${way}`}
    >
      {t('security.twoFactor.setUp')}
    </Anchor>
  );
  return {
    name: t('notifications.gateway'),
    text: t('notifications.gatewayIntro'),
    note: (
      <>
        {isUnreached && noMail}
        {isUnreached && noMail && ' · '}
        <NoteLink to="/settings/alerts">{t('notifications.gatewayAction')}</NoteLink>
      </>
    ),
    email:
      options !== undefined &&
      (isUnreached ? (
        <StatusLabel tone="waiting">{t('notifications.gatewayUnreached')}</StatusLabel>
      ) : (
        <OnOff isOn={hasMail} action={!hasMail && setUp(t('account.email'))} />
      )),
    webhook: options !== undefined && <OnOff isOn={hasWebhook} action={!hasWebhook && setUp(t('keys.webhook'))} />,
  };
}
