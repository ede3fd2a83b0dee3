import { ActionIcon, Alert, Button, Group, Menu, Stack, Text } from '@mantine/core';
import { IconDots, IconDownload, IconLink } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { translateOrQuote } from '../../../api/translate-sentence.ts';
import type { TaskDetail } from '../../../api/types.ts';
import type { TextKey } from '../../../i18n/texts.ts';
import { useApiMutation } from '../../../session/use-api.ts';
import { copyText } from '../../../ui/display/copy-field.tsx';
import { ErrorNotice } from '../../../ui/display/error-notice.tsx';
import { notifySuccess } from '../../../ui/display/notify.ts';
import { useFormat } from '../../../ui/display/use-format.ts';
import { useConfirm } from '../../../ui/form/confirm-dialog.tsx';
import { useMissingPreview } from '../previews/use-missing-preview.ts';
import { artifactPath, isFinished } from '../read-task.ts';
import classes from './task-result.module.css';

type TaskResultProps = {
  task: TaskDetail;
  /** Buttons beside those of the last file. */
  actions?: ReactNode;
  /** Further entries of its menu. */
  entries?: ReactNode;
  /** The result is what the page is for: saving it is the first thing to do. */
  isPrimary?: boolean;
};

/** The files of a task that has ended. A failed task has none. */
export function TaskResult({ task, actions, entries, isPrimary = false }: TaskResultProps) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const isMissing = task.artifacts.some(({ type, preview }) => type !== 'file' && preview === undefined);
  useMissingPreview(task.id, task.status === 'SUCCESS' && isMissing);
  if (!isFinished(task)) return null;
  if (task.artifacts.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('task.resultNone')}
      </Text>
    );
  const renew = () => queries.refetchQueries({ queryKey: ['api', `/api/task/${encodeURIComponent(task.id)}`] });
  return (
    <Stack gap="lg">
      {task.artifacts.map((artifact, index) => (
        <ArtifactView
          key={artifact.key}
          taskId={task.id}
          artifact={artifact}
          isPrimary={isPrimary && task.artifacts.length === 1}
          onRenew={renew}
          actions={
            index === task.artifacts.length - 1 && (
              <>
                {actions}
                <TaskLinks taskId={task.id} entries={entries} />
              </>
            )
          }
        />
      ))}
    </Stack>
  );
}

type Artifact = TaskDetail['artifacts'][number];
type ArtifactViewProps = {
  taskId: string;
  artifact: Artifact;
  isPrimary: boolean;
  onRenew(): Promise<unknown>;
  /** Beside the file's own actions. */
  actions: ReactNode;
};

/** Plays or shows a task's file. `onRenew` fetches fresh links. */
function ArtifactView({ taskId, artifact, isPrimary, onRenew, actions }: ArtifactViewProps) {
  const { t } = useTranslation();
  const [errorText, setErrorText] = useState<TextKey | null>(null);
  const [tries, setTries] = useState(0);
  const format = useFormat();
  const path = artifactPath(artifact.content_url);
  const label = t('task.artifact', { key: artifact.key });

  const onError = async (): Promise<void> => setErrorText(await diagnoseArtifact(path));
  const retry = async (): Promise<void> => {
    await onRenew();
    setErrorText(null);
    setTries((count) => count + 1);
  };
  return (
    <Stack gap="sm">
      {errorText === null ? (
        <Media key={`${path} ${tries}`} artifact={artifact} path={path} label={label} onError={() => void onError()} />
      ) : (
        <Alert color="red" variant="light" role="alert">
          <Stack gap="sm" align="flex-start">
            <Text size="sm">{t(errorText)}</Text>
            <Button size="xs" variant="default" onClick={() => void retry()}>
              {t('app.retry')}
            </Button>
          </Stack>
        </Alert>
      )}
      <Group gap="xs">
        <DownloadButton taskId={taskId} artifact={artifact} size="xs" isPrimary={isPrimary} />
        <CopyLinkButton artifact={artifact} size="xs" />
        {actions}
      </Group>
      <KeptState artifact={artifact} />
      {artifact.expires_at !== undefined && (
        <Text size="sm" c="dimmed">
          {t('task.linkExpires', { time: format.time(artifact.expires_at) })}
        </Text>
      )}
    </Stack>
  );
}

type DownloadButtonProps = { taskId: string; artifact: Artifact; size: 'xs' | 'sm'; isPrimary?: boolean };

export function DownloadButton({ taskId, artifact, size, isPrimary = false }: DownloadButtonProps) {
  const { t } = useTranslation();
  return (
    <Button
      component="a"
      href={artifactPath(artifact.content_url)}
      download={`${taskId}-${artifact.key}${fileExtension(artifact)}`}
      size={size}
      variant={isPrimary ? 'filled' : 'default'}
      leftSection={<IconDownload size={17} stroke={1.6} aria-hidden="true" />}
    >
      {t('task.download')}
    </Button>
  );
}

/** Copies a link to a file that needs no sign-in. */
export function CopyLinkButton({ artifact, size }: { artifact: Artifact; size: 'xs' | 'sm' }) {
  const { t } = useTranslation();
  const copyLink = async (): Promise<void> => {
    if (await copyText(artifact.content_url)) notifySuccess(t('task.linkCopied'));
    else notifySuccess(t('app.copyFailed'));
  };
  return (
    <Button
      size={size}
      variant="default"
      leftSection={<IconLink size={17} stroke={1.6} aria-hidden="true" />}
      onClick={() => void copyLink()}
    >
      {t('task.copyLink')}
    </Button>
  );
}

type MediaProps = { artifact: Artifact; path: string; label: string; onError(): void };

function Media({ artifact: { type, preview, cover }, path, label, onError }: MediaProps) {
  if (type === 'video') {
    return (
      // biome-ignore lint/a11y/useMediaCaption: vendors make no captions
      <video
        className={classes.picture}
        controls
        playsInline
        preload="metadata"
        poster={preview && artifactPath(preview.url)}
        src={path}
        aria-label={label}
        onError={onError}
      />
    );
  }
  if (type === 'audio') {
    return (
      <>
        <div className={classes.sounds}>
          {cover !== undefined && <Still preview={cover} className={classes.cover} />}
          {preview !== undefined && <Still preview={preview} className={classes.wave} />}
        </div>
        {/* biome-ignore lint/a11y/useMediaCaption: vendors make no captions */}
        <audio className={classes.sound} controls preload="metadata" src={path} aria-label={label} onError={onError} />
      </>
    );
  }
  if (type === 'image') return <img className={classes.picture} src={path} alt={label} onError={onError} />;
  // The gateway serves other files as downloads only.
  return null;
}

type StillProps = { preview: NonNullable<Artifact['preview']>; className: string | undefined };

/** Decorative: the player beside it says what it is. */
const Still = ({ preview: { url, width, height }, className }: StillProps) => (
  <img className={className} src={artifactPath(url)} width={width} height={height} loading="lazy" alt="" />
);

/** Whether the gateway keeps the file, until when, or why not. */
function KeptState({
  artifact: { kept, kept_until, kept_reason, kept_reason_sentence: said },
}: {
  artifact: Artifact;
}) {
  const { t } = useTranslation();
  const format = useFormat();
  if (kept === undefined) return null;
  const texts = {
    pending: t('task.keptPending'),
    kept: kept_until === undefined ? t('task.keptForever') : t('task.keptUntil', { time: format.time(kept_until) }),
    lost: t('task.keptLost', { reason: translateOrQuote({ ...said, message: kept_reason ?? '' }, t) }),
  };
  return (
    <Text size="sm" c="dimmed">
      {texts[kept]}
    </Text>
  );
}

function fileExtension({ mimeType }: Artifact): string {
  const kind = mimeType
    ?.split(';')[0]
    ?.split('/')[1]
    ?.replace(/^x-|^mpeg$/, (found) => (found === 'mpeg' ? 'mp3' : ''));
  return kind !== undefined && /^[a-z0-9]{2,5}$/.test(kind) ? `.${kind}` : '';
}

/** Texts for the error codes of the content endpoint. */
const codeTexts: Readonly<Record<string, TextKey>> = {
  artifact_gone: 'task.artifact.gone',
  artifact_upstream_auth_failed: 'task.artifact.auth',
  artifact_upstream_busy: 'task.artifact.busy',
  artifact_access_limited: 'task.artifact.busy',
  artifact_upstream_timeout: 'task.artifact.busy',
  artifact_plugin_unavailable: 'task.artifact.plugin',
};

/**
 * Media elements do not say why loading failed, so this requests the first byte to get the error.
 */
async function diagnoseArtifact(path: string): Promise<TextKey> {
  try {
    const response = await fetch(path, { headers: { range: 'bytes=0-0' }, cache: 'no-store' });
    if (response.ok) {
      await response.body?.cancel();
      return 'task.artifact.unplayable';
    }
    const answer = (await response.json()) as { error?: { code?: unknown } };
    return codeTexts[String(answer.error?.code)] ?? 'task.artifact.failed';
  } catch {
    return 'task.artifact.failed';
  }
}

/** A menu that ends all links to a task's results. The page then shows new ones. */
function TaskLinks({ taskId, entries }: { taskId: string; entries: ReactNode }) {
  const { t } = useTranslation();
  const confirm = useConfirm();
  const path = `/api/task/${encodeURIComponent(taskId)}`;
  const revoke = useApiMutation<void>({
    request: () => ({ method: 'POST', path: `${path}/links/revoke` }),
    invalidates: [path],
    onSuccess: () => notifySuccess(t('task.endLinksDone')),
  });
  const ask = async (): Promise<void> => {
    const question = { title: t('task.endLinksTitle'), text: t('task.endLinksText'), action: t('task.endLinks') };
    if (await confirm(question)) revoke.mutate();
  };
  return (
    <>
      <Menu withinPortal>
        <Menu.Target>
          <ActionIcon
            variant="default"
            size={30}
            loading={revoke.isPending}
            aria-label={t(entries === undefined ? 'task.linkOptions' : 'app.more')}
          >
            <IconDots size={17} stroke={1.6} aria-hidden="true" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {entries}
          <Menu.Item onClick={() => void ask()}>{t('task.endLinks')}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {revoke.isError && <ErrorNotice error={revoke.error} />}
    </>
  );
}
