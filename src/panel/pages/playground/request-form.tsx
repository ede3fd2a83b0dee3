import { Stack, Text } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import sideBySide from '../../ui/form/side-by-side.module.css';
import { AttachFile } from './attach-file.tsx';
import { FileField } from './file-field.tsx';
import { FilePreviews } from './file-previews.tsx';
import { isFileInput } from './find-invalid-field.ts';
import { type FieldSchema, RequestField } from './request-field.tsx';
import classes from './request-form.module.css';
import { SampleRequests } from './sample-requests.tsx';
import type { RequestDraft } from './use-request-draft.ts';

type RequestFormProps = {
  offer: CallableModel;
  draft: RequestDraft;
  /** What the plugin refuses, said beside its field; null: nothing. */
  refused: { field: string | null; text: string } | null;
};

/**
 * Inputs for the fields that the plugin declares. Other fields of the request are listed and can be
 * removed.
 */
export function RequestForm({ offer, draft, refused }: RequestFormProps) {
  const { t } = useTranslation();
  const { body, setField } = draft;
  const fields = Object.entries(offer.schema.properties).filter(([, schema]) => schema.const === undefined);
  const known = new Set(['model', ...fields.map(([name]) => name)]);
  const others = Object.keys(body).filter((name) => !known.has(name));
  return (
    <Stack gap="lg">
      <SampleRequests offer={offer} draft={draft} />
      <div className={sideBySide.fields}>
        {fields.map(([name, schema]) => {
          const field = {
            name,
            schema,
            isRequired: offer.schema.required.includes(name),
            refusal: refused?.field === name ? refused.text : null,
            className: isWide(name, schema) ? sideBySide.wide : undefined,
          };
          return isFileInput(schema) ? (
            <FileField key={name} {...field} draft={draft} />
          ) : (
            <RequestField key={name} {...field} value={body[name]} onChange={(value) => setField(name, value)} />
          );
        })}
      </div>
      <FilePreviews draft={draft} />
      <AttachFile draft={draft} />
      {others.length > 0 ? (
        <div>
          <Text size="sm" fw={500} mb={8}>
            {t('play.others')}
          </Text>
          <ul className={classes.others}>
            {others.map((name) => (
              <li key={name}>
                <code className={classes.other}>
                  {name}: {truncateJson(body[name])}
                </code>
                <button
                  type="button"
                  aria-label={t('play.others.remove', { name })}
                  onClick={() => setField(name, undefined)}
                >
                  <IconX size={15} stroke={1.8} aria-hidden="true" />
                </button>
              </li>
            ))}
          </ul>
        </div>
      ) : (
        <Text size="sm" c="dimmed">
          {t('play.others.hint')}
        </Text>
      )}
    </Stack>
  );
}

const isWide = (name: string, schema: FieldSchema): boolean =>
  name === 'prompt' || (schema['x-input'] === 'text' && schema['x-example'] === undefined);

const maxJsonLength = 60;

function truncateJson(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > maxJsonLength ? `${text.slice(0, maxJsonLength)}…` : text;
}
