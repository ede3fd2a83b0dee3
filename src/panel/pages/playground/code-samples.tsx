import { Anchor, Tabs } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { CallableModel } from '../../api/types.ts';
import { useStatus } from '../../session/use-status.ts';
import { CopyField } from '../../ui/copy-field.tsx';
import { Section } from '../../ui/section.tsx';
import type { RequestBody } from './attached-files.ts';
import { type CodeLanguage, codeWriters } from './write-code.ts';

/** Names of themselves, in every language. */
const names: Readonly<Record<CodeLanguage, string>> = { curl: 'curl', python: 'Python', javascript: 'JavaScript' };
const languages = Object.keys(names) as CodeLanguage[];

/** The request for one's own program, at the gateway's address. */
export function CodeSamples({ offer, body }: { offer: CallableModel; body: RequestBody }) {
  const { t } = useTranslation();
  const status = useStatus();
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
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List aria-label={t('play.code.language')} mb="md">
          {languages.map((language) => (
            <Tabs.Tab key={language} value={language}>
              {names[language]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {languages.map((language) => (
          <Tabs.Panel key={language} value={language}>
            <CopyField text={codeWriters[language]({ url, body })} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Section>
  );
}
