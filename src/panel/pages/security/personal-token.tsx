import { Button, Group, Skeleton, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NewPersonalToken, PersonalToken as Token } from '../../api/types.ts';
import { useApi, useChange } from '../../api/use-api.ts';
import { Answer } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { FailureNotice } from '../../ui/display/error-notice.tsx';
import { notifyDone } from '../../ui/display/notify.ts';
import { ShownOnce } from '../../ui/display/one-time-secret.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

const path = '/api/user/token';

/** The token with which scripts use the panel's API: one an account, shown once. */
export function PersonalToken() {
  const { t } = useTranslation();
  const kept = useApi<Token | null>(path);
  const [made, setMade] = useState<NewPersonalToken | null>(null);
  return (
    <SettingsBlock heading={t('security.token')} intro={t('security.token.intro')}>
      {made !== null && (
        <ShownOnce
          heading={t('security.token.once')}
          text={t('security.token.text', { header: 'Authorization: Bearer' })}
          secret={made.token}
        />
      )}
      <Answer query={kept} pending={<Skeleton h={36} w={180} />}>
        {(token) => <Held token={token} onMade={setMade} />}
      </Answer>
    </SettingsBlock>
  );
}

function Held({ token, onMade }: { token: Token | null; onMade(token: NewPersonalToken | null): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const make = useChange<void, NewPersonalToken>({
    request: () => ({ method: 'POST', path }),
    stale: [path],
    // Shown once, so at once: the former one is dead, whatever comes of reading it anew.
    onAnswer: onMade,
  });
  const revoke = useChange<void>({
    request: () => ({ method: 'DELETE', path }),
    stale: [path],
    onSuccess: () => {
      onMade(null);
      notifyDone(t('security.token.revoked'));
    },
  });
  const askToMake = async (): Promise<void> => {
    const question = {
      title: t('security.token.renewTitle'),
      text: t('security.token.renewText'),
      action: t('security.token.renew'),
    };
    if (token !== null && !(await confirm(question))) return;
    revoke.reset();
    make.mutate();
  };
  const askToRevoke = async (): Promise<void> => {
    const question = {
      title: t('security.token.revokeTitle'),
      text: t('security.token.revokeText'),
      action: t('security.token.revoke'),
    };
    if (!(await confirm(question))) return;
    make.reset();
    revoke.mutate();
  };
  const error = make.error ?? revoke.error;
  return (
    <>
      {error !== null && <FailureNotice error={error} />}
      {token !== null && (
        <Text size="sm">{t('security.token.kept', { prefix: token.prefix, date: format.date(token.created_at) })}</Text>
      )}
      <Group>
        <Button variant="default" loading={make.isPending} onClick={() => void askToMake()}>
          {t(token === null ? 'security.token.make' : 'security.token.renew')}
        </Button>
        {token !== null && (
          <Button variant="light" color="red" loading={revoke.isPending} onClick={() => void askToRevoke()}>
            {t('security.token.revoke')}
          </Button>
        )}
      </Group>
    </>
  );
}
