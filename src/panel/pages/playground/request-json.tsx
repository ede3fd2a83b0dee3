import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CodeEditor } from '../../ui/code/code-editor.tsx';
import { jsonErrorMessage } from './json-error-message.ts';
import type { RequestDraft } from './use-request-draft.ts';

/** The request as JSON, for fields that the form does not have. */
export function RequestJson({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const { error, files, text } = draft;
  return (
    <Stack gap="sm">
      <CodeEditor label={t('play.json.label')} language="json" value={text} onChange={draft.setText} />
      {error !== null && (
        <Text size="sm" c="var(--mantine-color-error)" role="alert">
          {jsonErrorMessage(error, t)}
        </Text>
      )}
      {Object.keys(files).length > 0 && (
        <Text size="sm" c="dimmed">
          {t('play.json.files')}
        </Text>
      )}
    </Stack>
  );
}
