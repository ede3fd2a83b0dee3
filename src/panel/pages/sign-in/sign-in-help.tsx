import { Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useSearchParams } from 'react-router';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { affiliateQuery } from '../accounts/affiliate-code.ts';
import { OwnerRecoveryHint } from './owner-recovery-hint.tsx';

/** Help for people who cannot sign in: sign-up, a mailed link, and recovery for the owner. */
export function SignInHelp() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const { data: status } = useGatewayStatus();
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
      <OwnerRecoveryHint />
    </Stack>
  );
}
