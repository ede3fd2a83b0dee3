import { Anchor, Button, Stack, Text } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import type { GatewayStatus, PasskeyRequest } from '../../api/types.ts';
import { getPasskeyAssertion, hasPasskeys } from '../../session/passkeys.ts';
import { useSession } from '../../session/session-context.tsx';
import { SignInError } from './sign-in-failure.tsx';

type PasskeyButtonProps = { status: GatewayStatus; onTwoFactorRequired(flowToken: string): void };

/** Signs in with a passkey and no name. If this browser cannot, shows the reason instead. */
export function PasskeyButton({ status, onTwoFactorRequired }: PasskeyButtonProps) {
  const { t } = useTranslation();
  const session = useSession();
  const signIn = useMutation({
    mutationFn: async () => {
      const ceremony = await session.send<PasskeyRequest>({ method: 'POST', path: '/api/user/passkey/login/begin' });
      const credential = await getPasskeyAssertion(ceremony.options.publicKey);
      const body = { flow_token: ceremony.flow_token, credential };
      return session.signInWith({ method: 'POST', path: '/api/user/passkey/login/finish', body });
    },
    onSuccess: (flowToken) => flowToken !== null && onTwoFactorRequired(flowToken),
  });

  const origins = status.passkey_origins.split(',');
  if (!origins.includes(window.location.origin)) return <OtherOriginHint origin={origins[0] ?? ''} />;
  if (!hasPasskeys()) return <Hint>{t('signIn.passkey.unknown')}</Hint>;
  return (
    <Stack gap={12}>
      {signIn.isError && (
        <SignInError error={signIn.error} codeTexts={{ AUTH_INVALID_CREDENTIALS: 'signIn.passkey.refused' }} />
      )}
      <Button
        variant={status.password_login_enabled ? 'default' : 'filled'}
        size="md"
        leftSection={<IconFingerprint size={19} stroke={1.6} aria-hidden="true" />}
        loading={signIn.isPending}
        onClick={() => signIn.mutate()}
      >
        {t('signIn.passkey')}
      </Button>
    </Stack>
  );
}

/**
 * Browsers offer passkeys only on the origin they were created for, and only in secure contexts.
 */
function OtherOriginHint({ origin }: { origin: string }) {
  const address = `${origin}${window.location.pathname}${window.location.search}`;
  return (
    <Hint>
      <Trans
        i18nKey="signIn.passkey.elsewhere"
        values={{ origin }}
        components={{ address: <Anchor href={address} inherit underline="always" /> }}
      />
    </Hint>
  );
}

const Hint = ({ children }: { children: ReactNode }) => (
  <Text size="sm" c="dimmed" lh={1.5}>
    {children}
  </Text>
);
