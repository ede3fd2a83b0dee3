import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconBookmark, IconX } from '@tabler/icons-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { QueryResult } from '../../ui/display/query-result.tsx';
import classes from './saved-views.module.css';
import { useSavedViews } from './use-saved-views.ts';

const maxName = 60;

/** The filter in the address under a name, kept with the account. */
export function SavedViews() {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const { views, save, remove } = useSavedViews(isOpen);
  const shown = new URLSearchParams(params);
  shown.delete('page');
  const query = shown.toString();
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    const onSuccess = (): void => {
      setName('');
      setOpen(false);
    };
    if (name.trim() !== '') save.mutate({ name: name.trim(), query }, { onSuccess });
  };
  const failed = save.error ?? remove.error;
  return (
    <Popover position="bottom-end" width={300} trapFocus returnFocus opened={isOpen} onChange={setOpen}>
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
          <QueryResult query={views}>
            {(found) =>
              found.length === 0 ? (
                <Text size="sm" c="dimmed">
                  {t('tasks.views.none')}
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
                          setOpen(false);
                        }}
                      >
                        {view.name}
                      </UnstyledButton>
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
                label={t('tasks.views.name')}
                value={name}
                maxLength={maxName}
                onChange={({ currentTarget }) => setName(currentTarget.value)}
                data-autofocus
              />
              <Button type="submit" flex="none" disabled={name.trim() === ''} loading={save.isPending}>
                {t('app.save')}
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
