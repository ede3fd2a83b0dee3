import { Alert, Anchor, Stack, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import { Trans, useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';

type SignInErrorProps = {
  error: Error;
  codeTexts?: Readonly<Record<string, TextKey>>;
};

/** Why a sign-in failed. For an account with too many sessions it lists the remedies. */
export function SignInError({ error, codeTexts }: SignInErrorProps) {
  const { t } = useTranslation();
  const { data: status } = useGatewayStatus();
  if (!(error instanceof ApiError) || error.code !== 'AUTH_SESSION_LIMIT') {
    return <ErrorNotice error={error} {...(codeTexts === undefined ? {} : { codeTexts })} />;
  }
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
      role="alert"
      title={t('signIn.limit.title')}
    >
      <Stack gap={8}>
        <Text size="sm" inherit>
          {t('signIn.limit.revoke')}
        </Text>
        <Text size="sm" inherit>
          {status?.password_reset ? (
            <Trans
              i18nKey="signIn.limit.reset"
              components={{ reset: <Anchor component={Link} to="/forgot-password" inherit underline="always" /> }}
            />
          ) : (
            t('signIn.limit.ask')
          )}
        </Text>
      </Stack>
    </Alert>
  );
}

/** The way out of a step of the sign-in. */
export const StepBack = ({ text, onClick }: { text: string; onClick(): void }) => (
  <Anchor
    component="button"
    type="button"
    size="sm"
    underline="always"
    onClick={onClick}
    style={{ alignSelf: 'flex-start' }}
  >
    {text}
  </Anchor>
);
