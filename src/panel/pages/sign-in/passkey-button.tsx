import { Anchor, Button, Stack, Text } from '@mantine/core';
import { IconFingerprint } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Trans, useTranslation } from 'react-i18next';
import type { GatewayStatus, PasskeyUse } from '../../api/types.ts';
import { hasPasskeys, showPasskey } from '../../session/passkeys.ts';
import { useSession } from '../../session/session-context.tsx';
import { SignInFailure } from './sign-in-failure.tsx';

type PasskeyButtonProps = { status: GatewayStatus; onCodeDue(flowToken: string): void };

/**
 * Sign-in without a name: the passkey says who it is. Where the browser cannot, the reason stands
 * in its place.
 */
export function PasskeyButton({ status, onCodeDue }: PasskeyButtonProps) {
  const { t } = useTranslation();
  const session = useSession();
  const signIn = useMutation({
    mutationFn: async () => {
      const begun = await session.send<PasskeyUse>({ method: 'POST', path: '/api/user/passkey/login/begin' });
      const credential = await showPasskey(begun.options.publicKey);
      const body = { flow_token: begun.flow_token, credential };
      return session.signInAt({ method: 'POST', path: '/api/user/passkey/login/finish', body });
    },
    onSuccess: (flowToken) => flowToken !== null && onCodeDue(flowToken),
  });

  const origins = status.passkey_origins.split(',');
  if (!origins.includes(window.location.origin)) return <Elsewhere origin={origins[0] ?? ''} />;
  if (!hasPasskeys()) return <Reason>{t('signIn.passkey.unknown')}</Reason>;
  return (
    <Stack gap={12}>
      {signIn.isError && (
        <SignInFailure error={signIn.error} meanings={{ AUTH_INVALID_CREDENTIALS: 'signIn.passkey.refused' }} />
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

/** Browsers show passkeys at the address alone that they were made for, and over https alone. */
function Elsewhere({ origin }: { origin: string }) {
  const address = `${origin}${window.location.pathname}${window.location.search}`;
  return (
    <Reason>
      <Trans
        i18nKey="signIn.passkey.elsewhere"
        values={{ origin }}
        components={{ address: <Anchor href={address} inherit underline="always" /> }}
      />
    </Reason>
  );
}

const Reason = ({ children }: { children: ReactNode }) => (
  <Text size="sm" c="dimmed" lh={1.5}>
    {children}
  </Text>
);
