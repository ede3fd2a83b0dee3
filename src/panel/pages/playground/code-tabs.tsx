import { Anchor, Tabs } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import {
  type CodeLanguage,
  type CodeRequest,
  codeGenerators,
  codeLanguages,
  keyPlaceholder,
} from '../../ui/code/generate-code.ts';
import { CopyField } from '../../ui/display/copy-field.tsx';

const languages = Object.keys(codeLanguages) as CodeLanguage[];

/** One request in curl, Python and JavaScript; with `apiKey`, ready to run. */
export function RequestTabs({
  apiKey = keyPlaceholder,
  ...request
}: Omit<CodeRequest, 'apiKey'> & { apiKey?: string }) {
  return <CodeTabs write={(language) => codeGenerators[language]({ ...request, apiKey })} />;
}

/** Where the key comes from that a sample has a placeholder for, and what else can be called. */
export function KeyLinks() {
  const { t } = useTranslation();
  return (
    <>
      {t('play.code.replace')}{' '}
      <Anchor component={Link} to="/keys/new" inherit underline="always">
        {t('play.code.keys')}
      </Anchor>
      {' · '}
      <Anchor component={Link} to="/reference" inherit underline="always">
        {t('home.reference')}
      </Anchor>
    </>
  );
}

/** A program in each language. The language that was chosen last is shown everywhere. */
export function CodeTabs({ write }: { write(language: CodeLanguage): string }) {
  const { t } = useTranslation();
  const [chosen, choose] = useLocalStorage<string>({
    ...{ key: 'taskgate.codeLanguage', defaultValue: 'curl' },
    getInitialValueInEffect: false,
  });
  const shown = languages.find((language) => language === chosen) ?? 'curl';
  return (
    <Tabs value={shown} onChange={(language) => language !== null && choose(language)} keepMounted={false}>
      <Tabs.List aria-label={t('play.code.language')} mb="md">
        {languages.map((language) => (
          <Tabs.Tab key={language} value={language}>
            {codeLanguages[language]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {languages.map((language) => (
        <Tabs.Panel key={language} value={language}>
          <CopyField text={write(language)} isProgram />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
