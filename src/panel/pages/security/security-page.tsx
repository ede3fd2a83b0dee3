import { useTranslation } from 'react-i18next';
import type { GatewayStatus, User } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { ArtifactLinks } from './artifact-links.tsx';
import { ConnectedAccounts } from './connected-accounts.tsx';
import { Passkeys } from './passkeys.tsx';
import { Password } from './password.tsx';
import { PersonalToken } from './personal-token.tsx';
import { Sessions } from './sessions.tsx';
import { TwoFactor } from './two-factor.tsx';

/** Sign-in methods and sessions of the user's own account. */
export function SecurityPage() {
  const { t } = useTranslation();
  const self = useApiQuery<User>('/api/user/self');
  const status = useGatewayStatus();
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
