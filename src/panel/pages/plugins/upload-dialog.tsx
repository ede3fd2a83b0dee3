import { Alert, Button, FileInput, Group, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError, UserError } from '../../api/api-error.ts';
import { isModelConflict, pluginDependentPaths } from '../../api/plugin-paths.ts';
import type { StoredPlugin } from '../../api/types.ts';
import { useApiMutation, withQuery } from '../../session/use-api.ts';
import { ErrorNotice } from '../../ui/display/error-notice.tsx';
import { FormDialog, FormDialogButtons } from '../../ui/form/form-dialog.tsx';
import { useForm } from '../../ui/form/use-form.ts';
import { useScopedNavigate } from '../../ui/page/page.tsx';
import { PluginErrorList, PluginErrors } from './plugin-errors.tsx';
import classes from './plugins.module.css';

type Values = {
  file: File | null;
  icon: File | null;
  remark: string;
  enabled: boolean;
  force: boolean;
  share: boolean;
};
type Upload = {
  source: string;
  icon?: string;
  remark: string;
  enabled: boolean;
  force: boolean;
  share_models?: boolean;
};

const emptyValues: Values = { file: null, icon: null, remark: '', enabled: true, force: false, share: false };

/** Uploads a plugin file. Errors are shown with their position in the source. */
export function UploadDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  const { t } = useTranslation();
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} size="lg" title={t('plugins.upload')}>
      <UploadForm onClose={onClose} />
    </FormDialog>
  );
}

function UploadForm({ onClose }: { onClose(): void }) {
  const { t } = useTranslation();
  const navigate = useScopedNavigate();
  /** A stored plugin whose warnings have not been read yet. */
  const [stored, setStored] = useState<StoredPlugin | null>(null);
  /** The name of the file that has faults. */
  const [refused, setRefused] = useState<string>();
  const [isReading, setReading] = useState(false);
  const [isUnreadable, setUnreadable] = useState(false);
  const change = useApiMutation<Upload, StoredPlugin>({
    request: (body) => ({ method: 'POST', path: '/api/plugin/task', body, timeoutMs: 60_000 }),
    invalidates: pluginDependentPaths,
    onSuccess: (result) => (result.warnings.length > 0 ? setStored(result) : finish(result)),
    onError: (error) => {
      if (!(error instanceof ApiError) || error.code !== 'PLUGIN_INVALID') return;
      // The same file can be chosen again once it is mended.
      setRefused(form.values.file?.name);
      form.set('file', null);
    },
  });
  const isConflict = change.error instanceof ApiError && change.error.code === 'PLUGIN_CONFLICT';
  const isShared = isModelConflict(change.error);
  const form = useForm<Values, Values>({
    initial: emptyValues,
    validate: () => ({}),
    toVariables: (values) => values,
    change: { ...change, isPending: isReading || change.isPending, mutate: (values) => void send(values) },
  });

  function finish({ plugin, outcome }: StoredPlugin): void {
    onClose();
    if (plugin === null) return;
    const page = `/plugins/${encodeURIComponent(plugin.key)}`;
    const { version } = plugin;
    navigate(outcome === 'waits_for_activation' ? withQuery(`${page}/activate`, { version }) : `${page}?tab=versions`);
  }

  /** Errors and confirmations of the previous file do not apply to another. */
  function chooseFile(file: File | null): void {
    change.reset();
    setUnreadable(false);
    setRefused(undefined);
    form.set('file', file);
    form.set('force', false);
    form.set('share', false);
  }

  async function send({ file, icon, remark, enabled, force, share }: Values): Promise<void> {
    if (file === null) return;
    setReading(true);
    setUnreadable(false);
    let currentFile: 'file' | 'icon' = 'icon';
    try {
      const picture = icon === null ? {} : { icon: await pictureDataUrl(icon) };
      currentFile = 'file';
      const source = await file.text();
      // The confirmation applies to this conflict only.
      change.mutate({
        source,
        ...picture,
        remark,
        enabled,
        force: isConflict && force,
        ...(isShared && share ? { share_models: true } : {}),
      });
    } catch {
      // The file was moved, deleted or changed after it was chosen. Clear it: choosing the same
      // file again raises an event only then.
      if (currentFile === 'file') chooseFile(null);
      else form.set('icon', null);
      setUnreadable(true);
    } finally {
      setReading(false);
    }
  }
  if (stored !== null) return <Warnings warnings={stored.warnings} onContinue={() => finish(stored)} />;
  return (
    <form onSubmit={form.submit} noValidate>
      <Stack gap="lg">
        {isUnreadable ? (
          <ErrorNotice error={new UserError('plugins.upload.unreadable')} />
        ) : (
          change.error !== null && <PluginErrors error={change.error} file={refused} />
        )}
        <FileInput
          {...form.bindValue('file')}
          onChange={chooseFile}
          disabled={form.isPending}
          label={t('plugins.upload.file')}
          description={t('plugins.upload.fileHint')}
          placeholder={t('plugins.upload.drop')}
          accept=".js,text/javascript"
          classNames={{ input: classes.drop ?? '' }}
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            chooseFile(event.dataTransfer.files[0] ?? form.values.file);
          }}
          data-autofocus
        />
        <FileInput
          {...form.bindValue('icon')}
          onChange={(icon) => {
            setUnreadable(false);
            form.set('icon', icon);
          }}
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
        {isShared && (
          <Switch
            {...form.bindChecked('share')}
            label={t('plugins.shareAction')}
            description={t('plugins.shareText')}
          />
        )}
        {isConflict && (
          <Switch
            {...form.bindChecked('force')}
            label={t('plugins.upload.force')}
            description={t('plugins.upload.forceHint')}
          />
        )}
        <FormDialogButtons
          action={t('plugins.upload.submit')}
          isPending={form.isPending}
          isDisabled={form.values.file === null}
        />
      </Stack>
    </form>
  );
}

type WarningsProps = { warnings: StoredPlugin['warnings']; onContinue(): void };

/** What the author should fix, although the plugin was stored. */
function Warnings({ warnings, onContinue }: WarningsProps) {
  const { t } = useTranslation();
  return (
    <Stack gap="lg">
      <Alert color="yellow" variant="light" role="status" title={t('plugins.upload.warnings')}>
        <Text size="sm">{t('plugins.upload.warningsText')}</Text>
        <PluginErrorList errors={warnings} />
      </Alert>
      <Group justify="flex-end">
        <Button data-autofocus onClick={onContinue}>
          {t('plugins.upload.continue')}
        </Button>
      </Group>
    </Stack>
  );
}

/** The picture as the API accepts it: a base64 data URL whose type follows from the file name. */
async function pictureDataUrl(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  const type = file.name.toLowerCase().endsWith('.svg') ? 'image/svg+xml' : 'image/png';
  return `data:${type};base64,${btoa(binary)}`;
}
