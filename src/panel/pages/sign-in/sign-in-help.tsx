import { Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { useStatus } from '../../session/use-gateway-status.ts';
import { affiliateQuery } from '../accounts/affiliate-code.ts';
import { LostPassword } from './owner-recovery-hint.tsx';

/**
 * For whoever cannot sign in: what this gateway offers of sign-up and a mailed link, and the
 * owner's way back.
 */
export function OtherWays() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const { data: status } = useStatus();
  return (
    <Stack gap={10}>
      {status?.password_register_enabled && (
        <Text size="sm">
          {t('signIn.noAccount')}{' '}
          <Anchor component={Link} to={`/sign-up${affiliateQuery(params)}`} underline="always">
            {t('signIn.toSignUp')}
          </Anchor>
        </Text>
      )}
      {status?.password_reset && (
        <Anchor component={Link} to="/forgot-password" size="sm" underline="always" style={{ alignSelf: 'flex-start' }}>
          {t('signIn.forgot')}
        </Anchor>
      )}
      <LostPassword />
    </Stack>
  );
}
