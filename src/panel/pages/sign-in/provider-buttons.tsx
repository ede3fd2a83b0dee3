import { Button, Divider, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { OAuthTicket } from '../../api/types.ts';
import { safeRedirect } from '../../session/safe-redirect.ts';
import { useSession } from '../../session/session-context.tsx';
import { useStatus } from '../../session/use-status.ts';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { listProviders } from '../oauth/list-providers.ts';
import { rememberLogin } from '../oauth/trips.ts';

/** Sign-in through the providers that are switched on; nothing where there are none. */
export function ProviderButtons() {
  const { t } = useTranslation();
  const session = useSession();
  const [params] = useSearchParams();
  const status = useStatus();
  const leave = useMutation({
    mutationFn: async (provider: string) => {
      const aff = params.get('aff');
      const body = { provider, intent: 'login', ...(aff === null ? {} : { aff }) };
      const ticket = await session.send<OAuthTicket>({ method: 'POST', path: '/api/oauth/state', body });
      rememberLogin(ticket.flow_token, { provider, redirect: safeRedirect(params.get('redirect')) });
      window.location.assign(ticket.authorization_url);
    },
  });
  const providers = status.data ? listProviders(status.data) : [];
  if (providers.length === 0) return null;
  return (
    <Stack gap={12}>
      <Divider label={t('signIn.or')} />
      {leave.isError && <FailureNotice error={leave.error} />}
      {providers.map(({ slug, name }) => (
        <Button
          key={slug}
          variant="default"
          size="md"
          loading={leave.isPending && leave.variables === slug}
          onClick={() => leave.mutate(slug)}
        >
          {t('signIn.with', { name })}
        </Button>
      ))}
    </Stack>
  );
}
