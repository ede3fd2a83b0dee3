import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconDownload, IconLink } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { sayOrQuote } from '../../api/say-server-text.ts';
import type { TaskDetail } from '../../api/types.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { copyText } from '../../ui/display/copy-text.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { useFormat } from '../../ui/display/use-format.ts';
import { artifactPath } from './artifact-path.ts';
import classes from './artifact-view.module.css';
import { diagnoseArtifact } from './diagnose-artifact.ts';

type Artifact = TaskDetail['artifacts'][number];
type ArtifactViewProps = {
  taskId: string;
  artifact: Artifact;
  onRenew(): Promise<unknown>;
  /** Beside the file's own actions. */
  actions: ReactNode;
};

/** Plays or shows a task's file. `onRenew` fetches fresh links. */
export function ArtifactView({ taskId, artifact, onRenew, actions }: ArtifactViewProps) {
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
  const copyLink = async (): Promise<void> => {
    if (await copyText(artifact.content_url)) notifySuccess(t('task.linkCopied'));
    else notifySuccess(t('app.copyFailed'));
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
        <Button
          component="a"
          href={path}
          download={`${taskId}-${artifact.key}${fileExtension(artifact)}`}
          size="xs"
          variant="default"
          leftSection={<IconDownload size={17} stroke={1.6} aria-hidden="true" />}
        >
          {t('task.download')}
        </Button>
        <Button
          size="xs"
          variant="subtle"
          leftSection={<IconLink size={17} stroke={1.6} aria-hidden="true" />}
          onClick={() => void copyLink()}
        >
          {t('task.copyLink')}
        </Button>
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
function KeptState({ artifact: { kept, kept_until, kept_reason } }: { artifact: Artifact }) {
  const { t } = useTranslation();
  const format = useFormat();
  if (kept === undefined) return null;
  const texts = {
    wanted: t('task.keptWanted'),
    kept: kept_until === undefined ? t('task.keptForever') : t('task.keptUntil', { time: format.time(kept_until) }),
    lost: t('task.keptLost', { reason: sayOrQuote(kept_reason ?? '', t) }),
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
