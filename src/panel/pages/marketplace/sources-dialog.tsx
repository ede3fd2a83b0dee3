import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import type { MarketplaceSource } from '../../api/types.ts';
import { useSession } from '../../session/session-context.tsx';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../ui/display/notify.ts';
import { QueryResult } from '../../ui/display/query-result.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { RowsFields } from '../../ui/form/rows/rows-fields.tsx';
import { hasFaults, readCells, toRows } from '../../ui/form/rows/rows-format.ts';
import { useUnsavedChanges } from '../../ui/form/unsaved-changes.tsx';
import { useMutationWithProof } from '../../ui/security-proof/security-proof.tsx';
import { type SentSource, sourceRows, toSource, toSourceCells } from './source-rows.ts';

type Source = MarketplaceSource['source'];
const path = '/api/plugin/task/marketplace/sources';

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
  const [initial] = useState(() => toRows(stored.map(toSourceCells)));
  const [rows, setRows] = useState(initial);
  const [isSubmitted, setSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const change = useMutationWithProof<SentSource[]>({
    scope: 'settings.security',
    request: (body) => ({ method: 'PUT', path, body }),
    invalidates: ['/api/plugin/task/marketplace', '/api/option'],
    onSuccess: () => {
      notifySuccess(t('app.saved'));
      onClose();
    },
  });
  useUnsavedChanges(() => JSON.stringify(readCells(rows)) !== JSON.stringify(readCells(initial)));
  const save = (): void => {
    // At once: the field to focus is known by its error.
    flushSync(() => setSubmitted(true));
    if (hasFaults(t, rows, sourceRows)) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    else change.mutate(readCells(rows).map(toSource));
  };
  return (
    <form
      ref={form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <Stack gap="lg">
        <Text size="sm" c="dimmed" lh={1.55}>
          {t('market.sourcesIntro')}
        </Text>
        {change.isError && <ErrorNotice error={change.error} />}
        <div>
          <RowsFields format={sourceRows} rows={rows} onChange={setRows} showsFaults={isSubmitted} />
        </div>
        <FormDialogButtons action={t('app.save')} isPending={change.isPending} />
      </Stack>
    </form>
  );
}
