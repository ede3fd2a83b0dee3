import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../../api/types.ts';
import { useGatewayStatus } from '../../../session/session-context.tsx';
import { DescriptionList } from '../../../ui/display/figures.tsx';
import { useFormat } from '../../../ui/display/use-format.ts';
import { Section } from '../../../ui/page/section.tsx';
import { findPictures, readTaskBody } from '../read-task.ts';
import { useUsageLabels } from './task-bill.tsx';
import classes from './task-page.module.css';

/** Characters of one setting, such as a picture in Base64. */
const maxSetting = 160;

/** What was sent: the whole prompt, and each setting by the plugin's name for it. */
export function TaskInputs({ task, heading }: { task: TaskDetail; heading: string }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const labels = useUsageLabels(task.platform, task.model);
  const settings = Object.entries(readTaskBody(task) ?? {}).filter(
    ([name, value]) => name !== 'model' && value !== task.input && value !== null && value !== '',
  );
  const isPromptShown = task.input === '' || task.input === heading;
  if (settings.length === 0 && isPromptShown) return null;
  const addresses = [window.location.origin, status.data?.server_address ?? ''];
  const show = (name: string, value: unknown): ReactNode => {
    const text = typeof value === 'object' ? JSON.stringify(value) : labels.format(name, value);
    const pictures = findPictures(value, addresses);
    return pictures.length === 0 ? (
      shorten(text)
    ) : (
      <Pictures pictures={pictures} label={labels.label(name)} text={text} />
    );
  };
  return (
    <Section heading={t('task.inputs')}>
      {task.input !== '' && (
        <div className={classes.prompt}>
          <h3>{t('task.prompt')}</h3>
          <p>{task.input}</p>
        </div>
      )}
      {settings.length > 0 && (
        <DescriptionList entries={settings.map(([name, value]) => [labels.label(name), show(name, value)])} />
      )}
    </Section>
  );
}

type PicturesProps = { pictures: readonly string[]; label: string; text: string };

/** Shows small pictures above what was sent. A picture that does not load is left out. */
function Pictures({ pictures, label, text }: PicturesProps) {
  const format = useFormat();
  const [failed, setFailed] = useState<readonly string[]>([]);
  const shown = pictures.filter((path) => !failed.includes(path));
  if (shown.length === 0) return shorten(text);
  return (
    <>
      <span className={classes.pictures}>
        {shown.map((path) => (
          <img
            key={path}
            src={path}
            alt={label}
            loading="lazy"
            onError={() => setFailed((before) => [...before, path])}
          />
        ))}
      </span>
      <span className={classes.sent}>{describe(text, format.bytes)}</span>
    </>
  );
}

/** Replaces each picture in Base64 by its type and size. */
function describe(text: string, bytes: (count: number) => string): string {
  const said = text.replaceAll(
    /data:image\/([\w.+-]+);base64,([\w+/=]+)/g,
    (_, type: string, data: string) => `${type.toUpperCase()} · ${bytes(Math.floor((data.length * 3) / 4))}`,
  );
  return shorten(said);
}

const shorten = (text: string): string => (text.length > maxSetting ? `${text.slice(0, maxSetting)}…` : text);
