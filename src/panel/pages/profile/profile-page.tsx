import { Anchor, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { User } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { roleText } from '../../session/roles.ts';
import { useStatus } from '../../session/use-gateway-status.ts';
import { Facts } from '../../ui/display/description-list.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { Page } from '../../ui/page/page.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';
import { DeleteAccount } from './delete-account.tsx';
import { Details } from './profile-details.tsx';
import { EmailAddress } from './email-address.tsx';
import { InviteLink } from './invite-link.tsx';

/** Who one is here. */
export function ProfilePage() {
  const { t } = useTranslation();
  const self = useApi<User>('/api/user/self');
  const status = useStatus();
  return (
    <Page heading={t('nav.profile')} intro={t('profile.intro')}>
      <div>
        <Answer query={self}>
          {(user) => (
            <>
              <SettingsBlock heading={t('profile.you')} intro={t('profile.you.intro')}>
                <Facts
                  facts={[
                    [t('home.account.name'), user.username],
                    [t('home.account.role'), t(roleText(user.role))],
                    [t('home.account.group'), user.group],
                  ]}
                />
                <Details user={user} />
              </SettingsBlock>
              <EmailAddress user={user} />
              {status.data?.register_enabled === true && <InviteLink status={status.data} />}
              <SettingsBlock heading={t('keys.webhook')}>
                <Text size="sm" lh={1.6}>
                  {t('profile.webhooks')}{' '}
                  <Anchor component={Link} to="/keys" inherit underline="always">
                    {t('nav.keys')}
                  </Anchor>
                </Text>
              </SettingsBlock>
              <DeleteAccount user={user} />
            </>
          )}
        </Answer>
      </div>
    </Page>
  );
}
