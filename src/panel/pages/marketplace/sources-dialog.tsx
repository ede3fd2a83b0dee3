import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { MarketplaceSource } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { useMutationWithProof } from '../../session/use-mutation-with-proof.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import classes from './marketplace.module.css';

type Source = MarketplaceSource['source'];
type Entry = Source & { id: number };

const path = '/api/plugin/task/marketplace/sources';

/** An emptied key unpins the source. */
type SentSource = { name: string; index_url: string; public_key: string | null };

function toSource({ name, index_url, public_key }: Entry): SentSource {
  const key = public_key?.trim() ?? '';
  return { name: name.trim(), index_url: index_url.trim(), public_key: key === '' ? null : key };
}

/** The addresses of the marketplace indexes that the gateway reads. */
export function SourcesDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} size="lg" title={t('market.sources')}>
      <StoredSources onClose={onClose} />
    </FormDialog>
  );
}

function StoredSources({ onClose }: { onClose(): void }) {
  const session = useSession();
  const sources = useQuery({
    queryKey: ['api', path],
    queryFn: () => session.send<Source[]>({ method: 'GET', path }),
    // The whole list is saved. A form that starts from cached data would undo changes by others.
    gcTime: 0,
  });
  return <QueryResult query={sources}>{(stored) => <SourcesForm stored={stored} onClose={onClose} />}</QueryResult>;
}

function SourcesForm({ stored, onClose }: { stored: readonly Source[]; onClose(): void }) {
  const { t } = useTranslation();
  const [entries, setEntries] = useState<readonly Entry[]>(() => stored.map((source, id) => ({ ...source, id })));
  const change = useMutationWithProof<SentSource[]>({
    scope: 'settings.security',
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: ['/api/plugin/task/marketplace', '/api/option'],
    onSuccess: () => {
      notifySuccess(t('app.saved'));
      onClose();
    },
  });
  const edit = (id: number, part: Partial<Source>): void =>
    setEntries((before) => before.map((entry) => (entry.id === id ? { ...entry, ...part } : entry)));
  const add = (): void =>
    setEntries((before) => [
      ...before,
      { id: Math.max(-1, ...before.map(({ id }) => id)) + 1, name: '', index_url: '', public_key: '' },
    ]);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(entries.map(toSource));
      }}
    >
      <Stack gap="lg">
        <Text size="sm" c="dimmed" lh={1.55}>
          {t('market.sourcesIntro')}
        </Text>
        {change.isError && <ErrorNotice error={change.error} />}
        {entries.map(({ id, name, index_url: address, public_key: key }, index) => (
          <Group
            key={id}
            align="flex-start"
            gap="sm"
            wrap="nowrap"
            className={classes.sourceFields}
            data-first={index === 0 || undefined}
          >
            {/* On a phone the fields stack: an address is long. */}
            <Group gap="sm" flex={1}>
              <TextInput
                label={t('market.sourceName')}
                value={name}
                onChange={(event) => edit(id, { name: event.currentTarget.value })}
                flex="1 1 150px"
              />
              <TextInput
                label={t('market.sourceAddress')}
                value={address}
                placeholder="https://example.com/plugins/index.json"
                onChange={(event) => edit(id, { index_url: event.currentTarget.value })}
                flex="3 1 250px"
                spellCheck={false}
                autoCapitalize="none"
              />
              <TextInput
                label={t('market.sourceKey')}
                value={key ?? ''}
                placeholder={t('market.sourceKeyHint')}
                onChange={(event) => edit(id, { public_key: event.currentTarget.value })}
                flex="1 1 100%"
                spellCheck={false}
                autoCapitalize="none"
              />
            </Group>
            <ActionIcon
              variant="subtle"
              color="gray"
              size={36}
              className={classes.removeSource}
              aria-label={t('market.removeSource', { name })}
              onClick={() => setEntries((before) => before.filter((entry) => entry.id !== id))}
            >
              <IconTrash size={18} stroke={1.6} aria-hidden="true" />
            </ActionIcon>
          </Group>
        ))}
        <div>
          <Button variant="subtle" leftSection={<IconPlus size={18} stroke={1.6} aria-hidden="true" />} onClick={add}>
            {t('market.addSource')}
          </Button>
        </div>
        <FormDialogButtons action={t('app.save')} isPending={change.isPending} />
      </Stack>
    </form>
  );
}
