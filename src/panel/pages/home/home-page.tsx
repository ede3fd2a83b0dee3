import { Anchor, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus, LoginSession, User } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession, useSessionSnapshot } from '../../session/session-context.tsx';
import { CopyField } from '../../ui/copy-field.tsx';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { PageHeading } from '../../ui/page-heading.tsx';
import { describeDevice } from '../../session/describe-device.ts';
import classes from './home-page.module.css';

/** 500,000 units of quota are one US dollar. */
const quotaPerUsd = 500_000;

/** Where a sign-in leads: who is signed in, what the account holds, and where requests go. */
export function HomePage() {
  const { t } = useTranslation();
  const session = useSession();
  const { bundle } = useSessionSnapshot();
  const self = useQuery({
    queryKey: ['self', bundle?.session.sid],
    queryFn: () => session.send<User>({ method: 'GET', path: '/api/user/self' }),
    enabled: bundle !== null,
  });
  const status = useQuery({
    queryKey: ['status'],
    queryFn: () => session.send<GatewayStatus>({ method: 'GET', path: '/api/status' }),
  });
  if (bundle === null) return null;
  const user = self.data ?? bundle.user;
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');

  return (
    <div className={classes.page}>
      <div className={classes.main}>
        <PageHeading
          title={t('home.title')}
          heading={t('home.heading', { name: user.display_name || user.username })}
          intro={t('home.intro')}
          focus
        />
        {self.isError && <FailureNotice error={self.error} />}
        <Figures user={user} />
        <section className={classes.endpoint} aria-labelledby="endpoint">
          <Title order={2} fz={18} id="endpoint">
            {t('home.endpoint')}
          </Title>
          <Text c="dimmed" size="sm" mt={6} mb={14}>
            {t('home.endpointHint')}
          </Text>
          <CopyField text={`${origin}/v1`} />
          <Anchor href="/api/docs" size="sm" mt={14} display="inline-block">
            {t('home.reference')}
          </Anchor>
        </section>
        <div className={classes.facts}>
          <AccountFacts user={user} />
          <SessionFacts session={bundle.session} />
        </div>
      </div>
      {status.data && (
        <Text component="footer" className={classes.footer} c="dimmed" size="xs">
          {t('home.version', { version: status.data.version })}
        </Text>
      )}
    </div>
  );
}

function Figures({ user }: { user: User }) {
  const { t, i18n } = useTranslation();
  const usd = new Intl.NumberFormat(i18n.language, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
  });
  const figures: readonly { label: TextKey; value: string }[] = [
    { label: 'home.balance', value: usd.format(user.quota / quotaPerUsd) },
    { label: 'home.used', value: usd.format(user.used_quota / quotaPerUsd) },
    { label: 'home.requests', value: new Intl.NumberFormat(i18n.language).format(user.request_count) },
  ];
  return (
    <dl className={classes.figures}>
      {figures.map(({ label, value }) => (
        <div key={label} className={classes.figure}>
          <dt>{t(label)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function AccountFacts({ user }: { user: User }) {
  const { t } = useTranslation();
  const role: TextKey = user.role >= 100 ? 'role.root' : user.role >= 10 ? 'role.admin' : 'role.user';
  return (
    <Facts
      title={t('home.account')}
      rows={[
        [t('home.account.name'), user.username],
        [t('home.account.role'), t(role)],
        [t('home.account.group'), user.group],
      ]}
    />
  );
}

function SessionFacts({ session }: { session: LoginSession }) {
  const { t, i18n } = useTranslation();
  const device = describeDevice(session.user_agent);
  const format = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeStyle: 'short' });
  const at = (seconds: number): string => format.format(new Date(seconds * 1000));
  return (
    <Facts
      title={t('home.session')}
      rows={[
        [t('home.session.device'), device === null ? t('home.device.unknown') : t('home.device', device)],
        [t('home.session.ip'), session.ip],
        [t('home.session.since'), at(session.created_at)],
        [t('home.session.until'), at(session.expires_at)],
      ]}
    />
  );
}

function Facts({ title, rows }: { title: string; rows: readonly (readonly [label: string, value: string])[] }) {
  return (
    <Stack component="section" gap={8}>
      <Title order={2} fz={18}>
        {title}
      </Title>
      <dl className={classes.rows}>
        {rows.map(([label, value]) => (
          <div key={label} className={classes.row}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Stack>
  );
}
