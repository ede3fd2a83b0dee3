import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { LegalTexts } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { Markdown } from '../../ui/display/markdown.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { PageHeading } from '../../ui/page/page-heading.tsx';
import { PublicFrame } from '../../ui/page/public-frame.tsx';
import classes from './legal-page.module.css';

const titles = {
  user_agreement: 'legal.agreement',
  privacy_policy: 'legal.policy',
} as const satisfies Record<keyof LegalTexts, TextKey>;

/** A legal text as the gateway's owner wrote it; shown to everybody, signed in or not. */
export function LegalPage({ text }: { text: keyof LegalTexts }) {
  const { t } = useTranslation();
  const session = useSession();
  const texts = useQuery({
    queryKey: ['legal'],
    queryFn: () => session.send<LegalTexts>({ method: 'GET', path: '/api/legal' }),
  });
  const title = t(titles[text]);
  return (
    <PublicFrame>
      <div className={classes.text}>
        <PageHeading title={title} heading={title} focus />
        <QueryResult query={texts}>
          {(data) =>
            data[text].trim() === '' ? (
              <Stack gap={20} align="flex-start">
                <Text c="dimmed">{t('legal.none')}</Text>
                <Button component={Link} to="/" variant="default">
                  {t('missing.home')}
                </Button>
              </Stack>
            ) : (
              <>
                <Markdown source={data[text]} isTitled />
                <Button component={Link} to="/" variant="default" style={{ alignSelf: 'flex-start' }}>
                  {t('app.back')}
                </Button>
              </>
            )
          }
        </QueryResult>
      </div>
    </PublicFrame>
  );
}
