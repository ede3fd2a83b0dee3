import { Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { parseUserAgent } from '../../../kernel/user-agents.ts';
import type { Account, AccountSession } from '../../api/types.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { Section } from '../../ui/page/section.tsx';
import classes from './users.module.css';

/** The account's sessions, for root, who can end them. */
export function AccountSessions({ account }: { account: Account }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const path = `/api/user/${account.id}/sessions`;
  const sessions = useApiQuery<AccountSession[]>(path);
  const change = useApiMutation<string>({
    request: (target) => ({ method: 'DELETE', path: target }),
    invalidates: ['/api/user'],
    onSuccess: () => notifySuccess(t('users.sessions.ended')),
  });
  const endAll = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: t('users.sessions.endAllAsk', { name: account.username }),
      text: t('users.sessions.endAllText'),
      action: t('users.sessions.endAll'),
    });
    if (isConfirmed) change.mutate(path);
  };
  return (
    <Section
      heading={t('users.sessions')}
      actions={
        sessions.data !== undefined &&
        sessions.data.length > 1 && (
          <Button
            variant="default"
            size="xs"
            loading={change.isPending && change.variables === path}
            disabled={change.isPending}
            onClick={() => void endAll()}
          >
            {t('users.sessions.endAll')}
          </Button>
        )
      }
    >
      {change.isError && <ErrorNotice error={change.error} />}
      <QueryResult query={sessions}>
        {(all) =>
          all.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('users.sessions.none')}
            </Text>
          ) : (
            <ul className={classes.lines}>
              {all.map((session) => {
                const target = `${path}/${encodeURIComponent(session.sid)}`;
                return (
                  <SessionLine
                    key={session.sid}
                    session={session}
                    isEnding={change.isPending && change.variables === target}
                    isBlocked={change.isPending}
                    onEnd={() => change.mutate(target)}
                  />
                );
              })}
            </ul>
          )
        }
      </QueryResult>
    </Section>
  );
}

type SessionLineProps = { session: AccountSession; isEnding: boolean; isBlocked: boolean; onEnd(): void };

function SessionLine({ session, isEnding, isBlocked, onEnd }: SessionLineProps) {
  const { t } = useTranslation();
  const format = useFormat();
  const known = parseUserAgent(session.user_agent);
  const device = known === null ? t('home.device.unknown') : t('home.device', known);
  return (
    <li className={classes.line}>
      <div>
        <Text size="sm" fw={550}>
          {device}
        </Text>
        <Text size="sm" c="dimmed">
          {t('users.sessions.active', { ago: format.ago(session.last_active_at) })} · {session.ip}
          <br />
          {t('users.sessions.since', { time: format.time(session.created_at).replaceAll(' ', '\u00a0') })}
        </Text>
      </div>
      <Button
        variant="default"
        size="xs"
        loading={isEnding}
        disabled={isBlocked}
        aria-label={t('users.sessions.endOne', { device })}
        onClick={onEnd}
      >
        {t('users.sessions.end')}
      </Button>
    </li>
  );
}
