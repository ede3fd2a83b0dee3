import { Button, FileInput, Group, Modal, Stack, Switch, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { ApiError } from '../../api/api-error.ts';
import { ToldError } from '../../api/told-error.ts';
import type { PluginDetail } from '../../api/types.ts';
import { useChange } from '../../api/use-api.ts';
import { FailureNotice } from '../../ui/failure-notice.tsx';
import { useForm } from '../../ui/use-form.ts';
import { PluginFaults } from './plugin-faults.tsx';
import { staleWithPlugins } from './plugin-paths.ts';
import { readPicture } from './read-picture.ts';

type Values = { file: File | null; icon: File | null; remark: string; enabled: boolean; force: boolean };
type Upload = { source: string; icon?: string; remark: string; enabled: boolean; force: boolean };

const empty: Values = { file: null, icon: null, remark: '', enabled: true, force: false };

/** Takes a plugin's file. What is wrong with it is told with its place in the text. */
export function UploadDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={t('plugins.upload')}
      closeButtonProps={{ 'aria-label': t('app.close') }}
    >
      <UploadForm onClose={onClose} />
    </Modal>
  );
}

function UploadForm({ onClose }: { onClose(): void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [isReading, setReading] = useState(false);
  const [isUnreadable, setUnreadable] = useState(false);
  const change = useChange<Upload, PluginDetail>({
    request: (body) => ({ method: 'POST', path: '/api/plugin/task', body, patienceMs: 60_000 }),
    stale: staleWithPlugins,
    onSuccess: ({ plugin }) => {
      onClose();
      if (plugin !== null) void navigate(`/plugins/${encodeURIComponent(plugin.key)}?tab=versions`);
    },
  });
  const isConflict = change.error instanceof ApiError && change.error.code === 'PLUGIN_CONFLICT';
  const form = useForm<Values, Values>({
    initial: empty,
    check: ({ file }) => ({ file: file === null ? t('plugins.upload.fileMissing') : null }),
    read: (values) => values,
    change: { ...change, mutate: (values) => void send(values) },
  });

  async function send({ file, icon, remark, enabled, force }: Values): Promise<void> {
    if (file === null) return;
    setReading(true);
    setUnreadable(false);
    try {
      const picture = icon === null ? {} : { icon: await readPicture(icon) };
      const source = await file.text();
      // What was agreed to for a conflict counts for that conflict alone.
      change.mutate({ source, ...picture, remark, enabled, force: isConflict && force });
    } catch {
      // Moved, deleted or changed since it was chosen.
      setUnreadable(true);
    } finally {
      setReading(false);
    }
  }
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        {isUnreadable ? (
          <FailureNotice error={new ToldError('plugins.upload.unreadable')} />
        ) : (
          change.error !== null && <PluginFaults error={change.error} />
        )}
        <FileInput
          {...form.bindValue('file')}
          label={t('plugins.upload.file')}
          description={t('plugins.upload.fileHint')}
          placeholder={t('plugins.upload.choose')}
          accept=".js,text/javascript"
          data-autofocus
        />
        <FileInput
          {...form.bindValue('icon')}
          label={t('plugins.upload.icon')}
          description={t('plugins.upload.iconHint')}
          placeholder={t('plugins.upload.choose')}
          accept="image/png,image/svg+xml"
          clearable
          clearButtonProps={{ 'aria-label': t('plugins.upload.iconClear') }}
        />
        <Textarea
          {...form.bind('remark')}
          label={t('plugins.upload.remark')}
          description={t('plugins.upload.remarkHint')}
          autosize
          minRows={2}
          maxRows={6}
        />
        <Switch
          {...form.bindChecked('enabled')}
          label={t('plugins.upload.enabled')}
          description={t('plugins.upload.enabledHint')}
        />
        {isConflict && (
          <Switch
            {...form.bindChecked('force')}
            label={t('plugins.upload.force')}
            description={t('plugins.upload.forceHint')}
          />
        )}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            {t('app.cancel')}
          </Button>
          <Button type="submit" loading={change.isPending || isReading}>
            {t('plugins.upload.submit')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
