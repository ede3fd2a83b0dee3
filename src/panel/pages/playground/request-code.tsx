import { Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { useGatewayStatus } from '../../session/session-context.tsx';
import { CodeEditor } from '../../ui/code/code-editor.tsx';
import { Section } from '../../ui/page/section.tsx';
import type { RequestBody } from './attached-files.ts';
import { surfaceFor } from './choose-sample.ts';
import { KeyLinks, RequestTabs } from './code-tabs.tsx';
import type { JsonError, RequestDraft } from './use-request-draft.ts';

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

/** Code samples of the request, with the gateway's address. */
export function CodeSamples({ offer, body }: { offer: CallableModel; body: RequestBody }) {
  const { t } = useTranslation();
  const status = useGatewayStatus();
  const origin = (status.data?.server_address || window.location.origin).replace(/\/+$/, '');
  const { path, follow, result } = surfaceFor(offer, body);
  // Copied before a prompt is written, the program runs all the same.
  const sample = body.prompt === '' ? { ...body, prompt: t('keys.samplePrompt') } : body;
  return (
    <Section
      heading={t('play.code')}
      intro={
        <>
          {follow !== null && `${t('play.code.hint', { path: follow })} `}
          <KeyLinks />
        </>
      }
    >
      <RequestTabs url={`${origin}${path}`} body={sample} result={result} />
    </Section>
  );
}

/** Says what is wrong with the JSON text. */
export const jsonErrorMessage = (error: JsonError, t: TFunction): string =>
  error.kind === 'noObject' ? t('play.json.noObject') : t('play.json.broken', { message: error.message });
