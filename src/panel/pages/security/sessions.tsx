import { Badge, Button, Group } from '@mantine/core';
import { IconDeviceDesktop, IconDeviceMobile } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { parseUserAgent } from '../../../kernel/user-agents.ts';
import type { LoginSession } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { DotSeparated, Item, ItemList } from './item-list.tsx';

export const sessionsPath = '/api/user/sessions';

/** The account's sessions, each of which can be ended. */
export function Sessions() {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const list = useApiQuery<LoginSession[]>(sessionsPath);
  const revokeOthers = useApiMutation<void>({
    request: () => ({ method: 'POST', path: '/api/user/sessions/revoke-others' }),
    invalidates: [sessionsPath],
    onSuccess: () => notifySuccess(t('security.sessions.othersEnded')),
  });
  const ask = async (): Promise<void> => {
    const question = {
      title: t('security.sessions.endOthersTitle'),
      text: t('security.sessions.endOthersText'),
      action: t('security.sessions.endOthers'),
    };
    if (await confirm(question)) revokeOthers.mutate();
  };
  return (
    <SettingsBlock heading={t('security.sessions')} intro={t('security.sessions.intro')}>
      {revokeOthers.isError && <ErrorNotice error={revokeOthers.error} />}
      <QueryResult query={list}>
        {(sessions) => (
          <>
            <ItemList label={t('security.sessions')}>
              {sessions.map((session) => (
                <SessionItem key={session.sid} session={session} />
              ))}
            </ItemList>
            {sessions.length > 1 && (
              <Group>
                <Button variant="default" loading={revokeOthers.isPending} onClick={() => void ask()}>
                  {t('security.sessions.endOthers')}
                </Button>
              </Group>
            )}
          </>
        )}
      </QueryResult>
    </SettingsBlock>
  );
}

const methods: Readonly<Record<string, TextKey>> = {
  password: 'security.method.password',
  '2fa': 'security.method.2fa',
  passkey: 'security.method.passkey',
  telegram: 'security.method.telegram',
  wechat: 'security.method.wechat',
};

function SessionItem({ session }: { session: LoginSession }) {
  const { t } = useTranslation();
  const format = useFormat();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'DELETE', path: `/api/user/sessions/${encodeURIComponent(session.sid)}` }),
    invalidates: [sessionsPath],
    onSuccess: () => notifySuccess(t('security.sessions.ended')),
  });
  const device = parseUserAgent(session.user_agent);
  const name = device === null ? t('home.device.unknown') : t('home.device', device);
  const isPhone = device !== null && ['Android', 'iOS'].includes(device.system);
  const Icon = isPhone ? IconDeviceMobile : IconDeviceDesktop;
  const method = methods[session.login_method];
  const activity = session.current
    ? t('security.sessions.activeNow')
    : t('security.sessions.active', { ago: format.ago(session.last_active_at) });
  const signedIn = t('security.sessions.since', {
    method:
      method === undefined
        ? t('security.method.provider', { name: session.login_method.replace(/^oauth:/, '') })
        : t(method),
    // Such a time never breaks.
    time: format.time(session.created_at).replaceAll(' ', '\u00a0'),
  });
  return (
    <Item
      icon={<Icon size={22} stroke={1.6} />}
      title={
        <>
          {name}
          {session.current && (
            <Badge variant="light" tt="none" fw={500}>
              {t('security.sessions.current')}
            </Badge>
          )}
        </>
      }
      details={
        <>
          <div>
            <DotSeparated parts={[activity, session.ip]} />
          </div>
          <div>{signedIn}</div>
          {revoke.isError && <ErrorNotice error={revoke.error} />}
        </>
      }
      {...(session.current
        ? {}
        : {
            actions: (
              <Button
                variant="default"
                size="xs"
                loading={revoke.isPending}
                aria-label={t('security.sessions.endNamed', { name, ip: session.ip })}
                onClick={() => revoke.mutate()}
              >
                {t('security.sessions.end')}
              </Button>
            ),
          })}
    />
  );
}
