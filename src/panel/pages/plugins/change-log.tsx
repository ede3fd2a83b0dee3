import { List, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { PluginVersion } from '../../api/types.ts';
import { Section } from '../../ui/page/section.tsx';

type Changes = PluginVersion['changelog'];

/** What changed in a version, as its publisher says: what to do about it first. */
export function ChangelogSection({ changelog }: { changelog: Changes }) {
  const { t } = useTranslation();
  if (changelog === null) return null;
  return (
    <Section heading={t('plugins.changelog')}>
      <ChangeList changelog={changelog} />
    </Section>
  );
}

/** In the reader's language, else in English, else in any. Plain text, never markup. */
export function ChangeList({ changelog }: { changelog: NonNullable<Changes> }) {
  const { t, i18n } = useTranslation();
  const [primary = ''] = i18n.language.split('-');
  const sections = changelog[i18n.language] ?? changelog[primary] ?? changelog.en ?? Object.values(changelog)[0] ?? [];
  return sections.map(({ name, items }) => (
    <div key={name}>
      <Title order={4} fz="sm" mt="sm">
        {t(`plugins.change.${name as 'Migration'}`)}
      </Title>
      <List size="sm">
        {items.map((item) => (
          <List.Item key={item}>
            <Text size="sm">{item}</Text>
          </List.Item>
        ))}
      </List>
    </div>
  ));
}
