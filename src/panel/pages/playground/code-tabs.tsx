import { Tabs } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../ui/display/copy-field.tsx';
import type { RequestBody } from './attached-files.ts';
import { type CodeLanguage, codeGenerators, keyPlaceholder } from './generate-code.ts';

/** Proper names, the same in every language. */
const names: Readonly<Record<CodeLanguage, string>> = { curl: 'curl', python: 'Python', javascript: 'JavaScript' };
const languages = Object.keys(names) as CodeLanguage[];

type CodeTabsProps = { url: string; body: RequestBody; apiKey?: string; result?: 'id' | 'data' };

/** One request in curl, Python and JavaScript; with `apiKey`, ready to run. */
export function CodeTabs({ url, body, apiKey, result = 'id' }: CodeTabsProps) {
  const { t } = useTranslation();
  return (
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
          <CopyField text={codeGenerators[language]({ url, body, apiKey: apiKey ?? keyPlaceholder, result })} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
