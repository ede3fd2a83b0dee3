import { Skeleton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus } from '../../api/types.ts';
import { useApiQuery } from '../../api/use-api.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { SettingsBlock } from '../../ui/page/settings-block.tsx';

/** The sign-up link that credits new users to this account. */
export function InviteLink({ status }: { status: GatewayStatus }) {
  const { t } = useTranslation();
  const code = useApiQuery<string>('/api/user/aff');
  const origin = (status.server_address || window.location.origin).replace(/\/+$/, '');
  return (
    <SettingsBlock heading={t('profile.invite')} intro={t('profile.invite.intro')}>
      <QueryResult query={code} pending={<Skeleton h={48} />}>
        {(aff) => <CopyField text={`${origin}/sign-up?aff=${encodeURIComponent(aff)}`} />}
      </QueryResult>
    </SettingsBlock>
  );
}
