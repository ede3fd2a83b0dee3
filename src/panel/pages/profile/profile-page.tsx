import { useTranslation } from 'react-i18next';
import type { User } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { roleTextKey } from '../../session/roles.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { DescriptionList } from '../../ui/display/description-list.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { EmailAddress } from './email-address.tsx';
import { ExportAccount } from './export-account.tsx';
import { InviteLink } from './invite-link.tsx';
import { ProfileDetails } from './profile-details.tsx';

/** The user's own account. */
export function ProfilePage() {
  const { t } = useTranslation();
  const self = useApiQuery<User>('/api/user/self');
  const status = useGatewayStatus();
  return (
    <Page heading={t('nav.profile')} intro={t('profile.intro')}>
      <div>
        <QueryResult query={self}>
          {(user) => (
            <>
              <SettingsBlock heading={t('profile.you')} intro={t('profile.you.intro')}>
                <DescriptionList
                  entries={[
                    [t('home.account.name'), user.username],
                    [t('home.account.role'), t(roleTextKey(user.role))],
                    [t('home.account.group'), user.group],
                  ]}
                />
                <ProfileDetails user={user} />
              </SettingsBlock>
              <EmailAddress user={user} />
              {status.data?.register_enabled === true && <InviteLink status={status.data} />}
              <ExportAccount />
              <DeleteAccount user={user} />
            </>
          )}
        </QueryResult>
      </div>
    </Page>
  );
}
