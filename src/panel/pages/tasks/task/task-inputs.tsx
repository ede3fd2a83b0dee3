import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../../api/types.ts';
import { DescriptionList } from '../../../ui/display/figures.tsx';
import { Section } from '../../../ui/page/section.tsx';
import { readTaskBody } from '../read-task.ts';
import { useUsageLabels } from './task-bill.tsx';
import classes from './task-page.module.css';

/** Characters of one setting, such as a picture in Base64. */
const maxSetting = 160;

/** What was sent: the whole prompt, and each setting by the plugin's name for it. */
export function TaskInputs({ task, heading }: { task: TaskDetail; heading: string }) {
  const { t } = useTranslation();
  const labels = useUsageLabels(task.platform, task.model);
  const settings = Object.entries(readTaskBody(task) ?? {}).filter(
    ([name, value]) => name !== 'model' && value !== task.input && value !== null && value !== '',
  );
  const isTold = task.input === '' || task.input === heading;
  if (settings.length === 0 && isTold) return null;
  return (
    <Section heading={t('task.inputs')}>
      {task.input !== '' && (
        <div className={classes.prompt}>
          <h3>{t('task.prompt')}</h3>
          <p>{task.input}</p>
        </div>
      )}
      {settings.length > 0 && (
        <DescriptionList
          entries={settings.map(([name, value]) => [labels.label(name), shorten(say(value, name, labels.format))])}
        />
      )}
    </Section>
  );
}

const say = (value: unknown, name: string, format: (name: string, value: unknown) => string): string =>
  typeof value === 'object' ? JSON.stringify(value) : format(name, value);

const shorten = (text: string): string => (text.length > maxSetting ? `${text.slice(0, maxSetting)}…` : text);
