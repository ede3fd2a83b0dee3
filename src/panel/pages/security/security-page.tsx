import { Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus, User } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { useApiMutation, useApiQuery, useReadAhead } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { useConfirm } from '../../ui/form/confirm-dialog.tsx';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/section.tsx';
import { bindingsPath, ConnectedAccounts } from './connected-accounts.tsx';
import { Passkeys, passkeysPath } from './passkeys.tsx';
import { Password } from './password.tsx';
import { PersonalToken, personalTokenPath } from './personal-token.tsx';
import { Sessions, sessionsPath } from './sessions.tsx';
import { TwoFactor, twoFactorPath } from './two-factor.tsx';

/** Sign-in methods and sessions of the user's own account. */
export function SecurityPage() {
  const { t } = useTranslation();
  const self = useApiQuery<User>('/api/user/self');
  const status = useGatewayStatus();
  useReadAhead(twoFactorPath, passkeysPath, bindingsPath, sessionsPath, personalTokenPath);
  return (
    <Page heading={t('nav.security')} intro={t('security.intro')}>
      <div>
        <QueryResult query={self}>
          {(user) => <QueryResult query={status}>{(gateway) => <Blocks user={user} status={gateway} />}</QueryResult>}
        </QueryResult>
      </div>
    </Page>
  );
}

function Blocks({ user, status }: { user: User; status: GatewayStatus }) {
  return (
    <>
      <Password user={user} status={status} />
      <TwoFactor />
      <Passkeys status={status} />
      <ConnectedAccounts user={user} status={status} />
      <Sessions />
      <PersonalToken />
      <ArtifactLinks />
    </>
  );
}

/** Revokes all links to the user's own results. */
function ArtifactLinks() {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: '/api/user/links/revoke' }),
    invalidates: ['/api/task'],
    onSuccess: () => notifySuccess(t('links.revoked')),
  });
  const ask = async (): Promise<void> => {
    const question = { title: t('links.revokeTitle'), text: t('links.revokeText'), action: t('links.revoke') };
    if (await confirm(question)) revoke.mutate();
  };
  return (
    <SettingsBlock heading={t('security.links')} intro={t('security.links.intro')}>
      {revoke.isError && <ErrorNotice error={revoke.error} />}
      <Group>
        <Button variant="light" color="red" loading={revoke.isPending} onClick={() => void ask()}>
          {t('links.revoke')}
        </Button>
      </Group>
    </SettingsBlock>
  );
}
