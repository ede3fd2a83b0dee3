import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconBookmark, IconPencil, IconX } from '@tabler/icons-react';
import { type FormEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import type { TaskView } from '../../api/types.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import classes from './tasks-page.module.css';
import { useSavedViews } from './use-saved-views.ts';

const maxName = 60;

/** The filter in the address under a name, kept with the account. */
export function SavedViews() {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [renamed, setRenamed] = useState<TaskView | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const { views, save, rename, remove } = useSavedViews(isOpen);
  const shown = new URLSearchParams(params);
  shown.delete('page');
  const query = shown.toString();
  const given = name.trim();
  // A new view replaces the one of its name, as a file does; by a new name none is lost.
  const isTaken = renamed !== null && views.data?.some((view) => view.name === given && view.id !== renamed.id);
  const beginRename = (view: TaskView | null): void => {
    setRenamed(view);
    setName(view?.name ?? '');
    field.current?.focus();
  };
  const change = (open: boolean): void => {
    setOpen(open);
    if (renamed !== null) beginRename(null);
  };
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (given === '' || isTaken) return;
    if (renamed !== null) {
      rename.mutate({ view: renamed, name: given }, { onSuccess: () => beginRename(null) });
      return;
    }
    const onSuccess = (): void => {
      setName('');
      setOpen(false);
    };
    save.mutate({ name: given, query }, { onSuccess });
  };
  const failed = save.error ?? rename.error ?? remove.error;
  return (
    <Popover position="bottom-end" width={300} trapFocus returnFocus opened={isOpen} onChange={change}>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconBookmark size={17} stroke={1.6} aria-hidden="true" />}
          onClick={() => change(!isOpen)}
        >
          {t('tasks.views')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('tasks.views')}>
        <Stack gap="sm">
          <QueryResult query={views}>
            {(found) =>
              found.length === 0 ? (
                <Text size="sm" c="dimmed">
                  {t(query === '' ? 'tasks.views.noFilter' : 'tasks.views.none')}
                </Text>
              ) : (
                <ul className={classes.views}>
                  {found.map((view) => (
                    <li key={view.id}>
                      <UnstyledButton
                        className={classes.view}
                        aria-current={view.query === query ? 'true' : undefined}
                        onClick={() => {
                          setParams(new URLSearchParams(view.query));
                          change(false);
                        }}
                      >
                        {view.name}
                      </UnstyledButton>
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={t('tasks.views.rename', { name: view.name })}
                        aria-pressed={renamed?.id === view.id}
                        onClick={() => beginRename(renamed?.id === view.id ? null : view)}
                      >
                        <IconPencil size={16} stroke={1.6} aria-hidden="true" />
                      </ActionIcon>
                      <ActionIcon
                        variant="subtle"
                        color="gray"
                        aria-label={t('tasks.views.remove', { name: view.name })}
                        loading={remove.isPending && remove.variables.id === view.id}
                        onClick={() => remove.mutate(view)}
                      >
                        <IconX size={16} stroke={1.6} aria-hidden="true" />
                      </ActionIcon>
                    </li>
                  ))}
                </ul>
              )
            }
          </QueryResult>
          {failed !== null && <ErrorNotice error={failed} />}
          <form onSubmit={onSubmit}>
            <Group gap="xs" align="end" wrap="nowrap">
              <TextInput
                className={classes.name ?? ''}
                ref={field}
                label={renamed === null ? t('tasks.views.name') : t('tasks.views.newName', { name: renamed.name })}
                error={isTaken ? t('rows.duplicate') : null}
                placeholder={t('tasks.views.example')}
                value={name}
                maxLength={maxName}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
                data-autofocus
              />
              <Button type="submit" flex="none" disabled={given === ''} loading={save.isPending || rename.isPending}>
                {t('app.save')}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
