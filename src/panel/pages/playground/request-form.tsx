import { Button, Stack, Text } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { CallableModel } from '../../api/types.ts';
import { localise, type TextKey } from '../../i18n/texts.ts';
import { Collapsible } from '../../ui/display/collapsible.tsx';
import { labelField } from '../../ui/display/use-format.ts';
import sideBySide from '../../ui/form/side-by-side.module.css';
import { AttachFile, FileField, FilePreviews } from './attach-file.tsx';
import type { RequestBody } from './attached-files.ts';
import { findMedium, type Medium } from './find-medium.ts';
import classes from './playground.module.css';
import { type FieldSchema, RequestField } from './request-field.tsx';
import { isFileInput } from './schema-fields.ts';
import type { RequestDraft } from './use-request-draft.ts';

type RequestFormProps = {
  offer: CallableModel;
  draft: RequestDraft;
  /** What the plugin refuses, said beside its field; null: nothing. */
  refused: { field: string | null; text: string } | null;
  /** What would be billed now: an empty field has its default there. */
  facts: Readonly<Record<string, unknown>> | undefined;
};

/**
 * Inputs for the fields that the plugin declares. Other fields of the request are listed and can be
 * removed.
 */
export function RequestForm({ offer, draft, refused, facts }: RequestFormProps) {
  const { t, i18n } = useTranslation();
  const { body, setField } = draft;
  const fields = Object.entries(offer.schema.properties).filter(([, schema]) => schema.const === undefined);
  const known = new Set(['model', ...fields.map(([name]) => name)]);
  const others = Object.keys(body).filter((name) => !known.has(name));
  const prompt = fields.filter(isPrompt);
  const rest = fields.filter((field) => !isPrompt(field) && !isShape(field));
  // Its resolution says enough of a picture for most.
  const shape = fields.filter(isShape);
  const isShaped = shape.some(([name]) => body[name] !== undefined || refused?.field === name);
  const toInputs = (shown: typeof fields) => (
    <div className={`${sideBySide.fields} ${classes.fields}`}>
      {shown.map(([name, schema]) => {
        const field = {
          name,
          label: labelField(offer.labels, name, i18n.language),
          // A label says what a fact is; its description is for the bill.
          help:
            schema['x-input'] === undefined && Object.hasOwn(offer.labels, name)
              ? ''
              : localise(schema['x-description'], i18n.language),
          schema,
          isRequired: offer.schema.required.includes(name),
          refusal: refused?.field === name ? refused.text : null,
          className: isWide(name, schema) ? sideBySide.wide : undefined,
        };
        return isFileInput(schema) ? (
          <FileField key={name} {...field} draft={draft} />
        ) : (
          <RequestField
            key={name}
            {...field}
            value={body[name]}
            standard={field.isRequired || body[name] !== undefined ? undefined : facts?.[name]}
            promptHint={findMedium(offer) === 'speech' ? '' : t('play.field.promptHint')}
            onChange={(value) => setField(name, value)}
          />
        );
      })}
    </div>
  );
  return (
    <Stack gap="lg">
      {prompt.length > 0 && toInputs(prompt)}
      <SampleRequests offer={offer} draft={draft} />
      {rest.length > 0 && toInputs(rest)}
      <FilePreviews draft={draft} />
      <Collapsible
        label={t('play.more')}
        note={[...(shape.length > 0 ? [t('play.field.size')] : []), t('play.file')].join(', ')}
        forceOpen={isShaped || others.length > 0}
      >
        <Stack gap="lg">
          {shape.length > 0 && toInputs(shape)}
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
      </Collapsible>
    </Stack>
  );
}

const isPrompt = ([name]: readonly [string, unknown]): boolean => name === 'prompt';

const isShape = ([name, { pattern }]: readonly [string, FieldSchema]): boolean =>
  name === 'size' && pattern !== undefined;

const isWide = (name: string, schema: FieldSchema): boolean =>
  name === 'prompt' || (schema['x-input'] === 'text' && schema['x-example'] === undefined);

const maxJsonLength = 60;

function truncateJson(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > maxJsonLength ? `${text.slice(0, maxJsonLength)}…` : text;
}

type Sample = { label: string; fields: RequestBody };

/** Prompts for plugins that give no requests of their own, by what they make. */
const prompts = {
  video: [
    ['play.sample.boat', 'play.sample.boatPrompt'],
    ['play.sample.city', 'play.sample.cityPrompt'],
  ],
  image: [
    ['play.sample.still', 'play.sample.stillPrompt'],
    ['play.sample.poster', 'play.sample.posterPrompt'],
  ],
  music: [
    ['play.sample.folk', 'play.sample.folkPrompt'],
    ['play.sample.piano', 'play.sample.pianoPrompt'],
  ],
  speech: [
    ['play.sample.platform', 'play.sample.platformPrompt'],
    ['play.sample.story', 'play.sample.storyPrompt'],
  ],
  sound: [['play.sample.thunder', 'play.sample.thunderPrompt']],
  lyrics: [['play.sample.harbor', 'play.sample.harborPrompt']],
} as const satisfies Record<Medium, readonly (readonly [label: TextKey, prompt: TextKey])[]>;

/** Requests to begin with: the plugin's own, else prompts. */
function SampleRequests({ offer, draft }: { offer: CallableModel; draft: RequestDraft }) {
  const { t, i18n } = useTranslation();
  const own = offer.requests.map(
    ({ label, request }): Sample => ({ label: localise(label, i18n.language), fields: request }),
  );
  const written = prompts[findMedium(offer)].map(
    ([label, prompt]): Sample => ({ label: t(label), fields: { prompt: t(prompt) } }),
  );
  return (
    <fieldset className={classes.examples}>
      <legend>{t('play.examples')}</legend>
      <div className={classes.samples}>
        {(own.length > 0 ? own : written).map(({ label, fields }) => (
          <Button key={label} size="xs" variant="default" onClick={() => draft.setFields(fields)}>
            {label}
          </Button>
        ))}
      </div>
    </fieldset>
  );
}
