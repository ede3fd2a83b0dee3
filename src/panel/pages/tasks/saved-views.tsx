import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconBookmark, IconX } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { useSessionSnapshot } from '../../session/session-context.tsx';
import { readStored, writeStored } from './list-preferences.ts';
import classes from './saved-views.module.css';

export type SavedView = { name: string; query: string };

const maxViews = 30;

/** What was stored, without what is no view. */
export function readViews(text: string | null): SavedView[] {
  try {
    const stored = JSON.parse(text ?? '[]') as unknown;
    if (!Array.isArray(stored)) return [];
    return stored
      .filter((view): view is SavedView => typeof view?.name === 'string' && typeof view?.query === 'string')
      .slice(0, maxViews);
  } catch {
    return [];
  }
}

/** The filter in the address under a name, kept in this browser for this user. */
export function SavedViews() {
  const { t } = useTranslation();
  const { bundle } = useSessionSnapshot();
  const [params, setParams] = useSearchParams();
  const storageKey = `taskgate.task-views.${bundle?.user.id ?? 0}`;
  const [views, setViews] = useState(() => readViews(readStored(storageKey)));
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const keep = (next: SavedView[]): void => {
    setViews(next);
    writeStored(storageKey, JSON.stringify(next));
  };
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const query = new URLSearchParams(params);
    query.delete('page');
    const view = { name: name.trim(), query: query.toString() };
    if (view.name === '') return;
    keep([view, ...views.filter((each) => each.name !== view.name)].slice(0, maxViews));
    setName('');
    setOpen(false);
  };
  return (
    <Popover position="bottom-end" width={300} trapFocus opened={isOpen} onChange={setOpen}>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconBookmark size={17} stroke={1.6} aria-hidden="true" />}
          onClick={() => setOpen(!isOpen)}
        >
          {t('tasks.views')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('tasks.views')}>
        <Stack gap="sm">
          {views.length === 0 ? (
            <Text size="sm" c="dimmed">
              {t('tasks.views.none')}
            </Text>
          ) : (
            <ul className={classes.views}>
              {views.map((view) => (
                <li key={view.name}>
                  <UnstyledButton
                    className={classes.view}
                    onClick={() => {
                      setParams(new URLSearchParams(view.query));
                      setOpen(false);
                    }}
                  >
                    {view.name}
                  </UnstyledButton>
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={t('tasks.views.remove', { name: view.name })}
                    onClick={() => keep(views.filter((each) => each !== view))}
                  >
                    <IconX size={16} stroke={1.6} aria-hidden="true" />
                  </ActionIcon>
                </li>
              ))}
            </ul>
          )}
          <form onSubmit={save}>
            <Group gap="xs" align="end" wrap="nowrap">
              <TextInput
                label={t('tasks.views.name')}
                value={name}
                maxLength={60}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
                data-autofocus
              />
              <Button type="submit" disabled={name.trim() === ''}>
                {t('app.save')}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
