import { Button, Group, Skeleton, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NewPersonalToken, PersonalToken as Token } from '../../api/types.ts';
import { useApiMutation, useApiQuery } from '../../session/use-api.ts';
import { OneTimeSecret } from '../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useFormat } from '../../ui/display/use-format.ts';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';

export const personalTokenPath = '/api/user/token';

/** The personal access token for scripts: one per account, shown once. */
export function PersonalToken() {
  const { t } = useTranslation();
  const stored = useApiQuery<Token | null>(personalTokenPath);
  const [created, setCreated] = useState<NewPersonalToken | null>(null);
  return (
    <SettingsBlock heading={t('security.token')} intro={t('security.token.intro')}>
      {created !== null && (
        <OneTimeSecret
          heading={t('security.token.once')}
          text={t('security.token.text', { header: 'Authorization: Bearer' })}
          secret={created.token}
        />
      )}
      <QueryResult query={stored} pending={<Skeleton h={36} w={180} />}>
        {(token) => <TokenControls token={token} onCreated={setCreated} />}
      </QueryResult>
    </SettingsBlock>
  );
}

function TokenControls({ token, onCreated }: { token: Token | null; onCreated(token: NewPersonalToken | null): void }) {
  const { t } = useTranslation();
  const format = useFormat();
  const confirm = useConfirm();
  const create = useApiMutation<void, NewPersonalToken>({
    request: () => ({ method: 'POST', path: personalTokenPath }),
    invalidates: [personalTokenPath],
    // The token is shown only once and the previous one is revoked, so it is taken before the
    // refetch.
    onResponse: onCreated,
  });
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'DELETE', path: personalTokenPath }),
    invalidates: [personalTokenPath],
    onSuccess: () => {
      onCreated(null);
      notifySuccess(t('security.token.revoked'));
    },
  });
  const confirmAndCreate = async (): Promise<void> => {
    const question = {
      title: t('security.token.renewTitle'),
      text: t('security.token.renewText'),
      action: t('security.token.renew'),
    };
    if (token !== null && !(await confirm(question))) return;
    revoke.reset();
    create.mutate();
  };
  const confirmAndRevoke = async (): Promise<void> => {
    const question = {
      title: t('security.token.revokeTitle'),
      text: t('security.token.revokeText'),
      action: t('security.token.revoke'),
    };
    if (!(await confirm(question))) return;
    create.reset();
    revoke.mutate();
  };
  const error = create.error ?? revoke.error;
  return (
    <>
      {error !== null && <ErrorNotice error={error} />}
      <Text size="sm">
        {token === null
          ? t('security.token.none')
          : t('security.token.kept', { prefix: token.prefix, date: format.date(token.created_at) })}
      </Text>
      <Group>
        <Button variant="default" loading={create.isPending} onClick={() => void confirmAndCreate()}>
          {t(token === null ? 'security.token.make' : 'security.token.renew')}
        </Button>
        {token !== null && (
          <Button variant="light" color="red" loading={revoke.isPending} onClick={() => void confirmAndRevoke()}>
            {t('security.token.revoke')}
          </Button>
        )}
      </Group>
    </>
  );
}
