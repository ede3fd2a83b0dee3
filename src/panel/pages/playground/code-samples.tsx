import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { Section } from '../../ui/page/section.tsx';
import type { RequestBody } from './attached-files.ts';
import { CodeTabs } from './code-tabs.tsx';

/** Code samples of the request, with the gateway's address. */
export function CodeSamples({ offer, body }: { offer: CallableModel; body: RequestBody }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const url = `${origin}${offer.surfaces.generic}`;
  return (
    <Section
      heading={t('play.code')}
      intro={
        <>
          {t('play.code.hint', { path: '/v1/tasks/{id}' })}{' '}
          <Anchor component={Link} to="/keys" inherit underline="always">
            {t('play.code.keys')}
          </Anchor>
        </>
      }
    >
      <CodeTabs url={url} body={body} />
    </Section>
  );
}
