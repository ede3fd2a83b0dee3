import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { TaskDetail } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/use-gateway-status.ts';
import { copyText } from '../../ui/display/copy-text.ts';
import { notifySuccess } from '../../ui/display/notify.ts';
import { type CodeLanguage, codeGenerators, keyPlaceholder } from '../playground/generate-code.ts';
import { readTaskBody } from './read-task-body.ts';

/** Proper names, the same in every language. */
const languages: Readonly<Record<CodeLanguage, string>> = { curl: 'curl', python: 'Python', javascript: 'JavaScript' };

/** Copies the task's id, its links, and its request as a program. Never with a key. */
export function CopyMenu({ task }: { task: TaskDetail }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const copy = async (text: string): Promise<void> =>
    notifySuccess(t((await copyText(text)) ? 'app.copied' : 'app.copyFailed'));
  const body = readTaskBody(task);
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const url = `${origin}/v1/tasks/${encodeURIComponent(task.platform)}`;
  return (
    <Menu width={230}>
      <Menu.Target>
        <Button
          variant="default"
          leftSection={<IconCopy size={17} stroke={1.6} aria-hidden="true" />}
          rightSection={<IconChevronDown size={16} stroke={1.6} aria-hidden="true" />}
        >
          {t('app.copy')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => void copy(task.id)}>{t('task.facts.id')}</Menu.Item>
        <Menu.Item onClick={() => void copy(window.location.href)}>{t('task.copy.page')}</Menu.Item>
        {task.input !== '' && <Menu.Item onClick={() => void copy(task.input)}>{t('task.prompt')}</Menu.Item>}
        {task.artifacts.length > 0 && (
          <Menu.Item onClick={() => void copy(task.artifacts.map(({ content_url }) => content_url).join('\n'))}>
            {t('task.copy.results')}
          </Menu.Item>
        )}
        {body !== null && (
          <>
            <Menu.Divider />
            {Object.entries(languages).map(([language, name]) => (
              <Menu.Item
                key={language}
                onClick={() =>
                  void copy(codeGenerators[language as CodeLanguage]({ url, body, apiKey: keyPlaceholder }))
                }
              >
                {t('task.copy.as', { language: name })}
              </Menu.Item>
            ))}
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
