import { Button, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { GatewayStatus, User } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { bindInPopup, PopupGone } from '../oauth/bind-in-popup.ts';
import { listProviders } from '../oauth/list-providers.ts';
import classes from './home-page.module.css';

/** The account's identities at the providers that are switched on; nothing where there are none. */
export function Identities({ user, status }: { user: User; status: GatewayStatus }) {
  const { t } = useTranslation();
  const session = useSession();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: async ({ slug, isBound }: { slug: string; isBound: boolean }) => {
      if (!isBound) return bindInPopup(session, slug);
      await session.send({ method: 'DELETE', path: `/api/user/oauth/bindings/${encodeURIComponent(slug)}` });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['self'] }),
  });
  const providers = listProviders(status);
  if (providers.length === 0) return null;
  return (
    <Stack component="section" gap={8}>
      <Title order={2} fz={18}>
        {t('home.identities')}
      </Title>
      {change.error instanceof PopupGone && (
        <Text size="sm" role="alert">
          {t('home.identities.closed')}
        </Text>
      )}
      {change.isError && !(change.error instanceof PopupGone) && <FailureNotice error={change.error} />}
      <dl className={classes.rows}>
        {providers.map(({ slug, name }) => {
          const isBound = user.bindings.some(({ provider }) => provider === slug);
          return (
            <div key={slug} className={classes.row}>
              <dt>{name}</dt>
              <dd>
                <Button
                  size="compact-sm"
                  variant={isBound ? 'subtle' : 'light'}
                  aria-label={t(isBound ? 'home.identities.unbindFrom' : 'home.identities.bindTo', { name })}
                  loading={change.isPending && change.variables.slug === slug}
                  onClick={() => change.mutate({ slug, isBound })}
                >
                  {t(isBound ? 'home.identities.unbind' : 'home.identities.bind')}
                </Button>
              </dd>
            </div>
          );
        })}
      </dl>
    </Stack>
  );
}
