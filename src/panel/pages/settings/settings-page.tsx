import { Anchor, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, Navigate, useParams, useSearchParams } from 'react-router';
import type { Option } from '../../api/types.ts';
import { useApi } from '../../api/use-api.ts';
import { EmptyState } from '../../ui/display/empty-state.tsx';
import { Answer } from '../../ui/display/query-result.tsx';
import { Section } from '../../ui/page/section.tsx';
import { OptionGroup } from './option-group.tsx';
import { groupTexts, optionTexts } from './option-texts.ts';
import classes from './settings.module.css';
import { SettingsFrame } from './settings-frame.tsx';

/** All options, a group at a time or as a search finds them. */
export function SettingsPage() {
  const { group } = useParams();
  const [params] = useSearchParams();
  const options = useApi<Option[]>('/api/option');
  const [isDirty, setDirty] = useState(false);
  const wanted = (params.get('q') ?? '').trim();
  const [first = ''] = Object.keys(groupTexts);
  if (group === undefined && wanted === '') return <Navigate to={`/settings/${first}`} replace />;
  if (group !== undefined && groupTexts[group] === undefined) return <Navigate to={`/settings/${first}`} replace />;
  return (
    <SettingsFrame current={group ?? null} isDirty={isDirty}>
      <Answer query={options}>
        {(all) =>
          group === undefined ? (
            <Found options={all} wanted={wanted} />
          ) : (
            <OptionGroup key={group} group={group} options={all} onDirty={setDirty} />
          )
        }
      </Answer>
    </SettingsFrame>
  );
}

/** Options whose name, help or key has the words that are looked for. */
function Found({ options, wanted }: { options: readonly Option[]; wanted: string }) {
  const { t } = useTranslation();
  const words = wanted.toLowerCase().split(/\s+/);
  const told = options.map((option) => {
    const texts = optionTexts[option.key];
    const group = groupTexts[option.group];
    return {
      key: option.key,
      path: `/settings/${option.group}#option-${encodeURIComponent(option.key)}`,
      name: texts === undefined ? option.key : t(texts.name),
      help: texts === undefined ? '' : t(texts.help),
      group: group === undefined ? option.group : t(group.name),
    };
  });
  const found = told.filter(({ key, name, help, group }) => {
    const text = `${key} ${name} ${help} ${group}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (found.length === 0) {
    return <EmptyState heading={t('settings.foundNone', { text: wanted })} text={t('settings.foundNoneText')} />;
  }
  return (
    <Section heading={t('settings.found', { text: wanted })}>
      <ul className={classes.found}>
        {found.map(({ key, path, name, help, group }) => (
          <li key={key}>
            <Anchor component={Link} to={path} fw={550}>
              {name}
            </Anchor>
            <Text size="sm" c="dimmed">
              {group} · {help}
            </Text>
          </li>
        ))}
      </ul>
    </Section>
  );
}
