import { ActionIcon, Button, CloseButton, FileButton, Group, Text, TextInput, Tooltip } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/display/use-format.ts';
import { attachedBytes, maxFileBytes } from './attached-files.ts';
import classes from './playground.module.css';
import type { FieldProps } from './request-field.tsx';
import type { RequestDraft } from './use-request-draft.ts';

/** Attaches a file to a field of the request. */
export function AttachFile({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const [field, setField] = useState('image');
  const { error, attach } = useAttachFile(draft);
  const reset = useRef<() => void>(null);

  const choose = (file: File | null): void => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    void attach(file, field.trim() || 'image');
  };

  return (
    <fieldset className={classes.examples}>
      <legend>{t('play.file')}</legend>
      <Group align="flex-end" gap="sm" className={classes.line}>
        <TextInput
          label={t('play.file.field')}
          description={t('play.file.fieldHint')}
          spellCheck={false}
          autoCapitalize="none"
          value={field}
          onChange={({ currentTarget }) => setField(currentTarget.value)}
        />
        <FileButton resetRef={reset} onChange={choose} inputProps={{ 'aria-label': t('play.file.choose') }}>
          {(props) => (
            <Button
              {...props}
              variant="default"
              leftSection={<IconPaperclip size={17} stroke={1.6} aria-hidden="true" />}
            >
              {t('play.file.choose')}
            </Button>
          )}
        </FileButton>
      </Group>
      <Text size="sm" c="dimmed" mt={8}>
        {t('play.file.drop')}
      </Text>
      {error !== null && (
        <Text size="sm" c="var(--mantine-color-error)" mt={8} role="alert">
          {error}
        </Text>
      )}
    </fieldset>
  );
}

/** The files of the request, images as pictures. */
export function FilePreviews({ draft }: { draft: RequestDraft }) {
  const { t } = useTranslation();
  const attached = Object.entries(draft.body).flatMap(([field, value]) => {
    const file = typeof value === 'string' && Object.hasOwn(draft.files, value) ? draft.files[value] : undefined;
    return file === undefined ? [] : [{ field, name: String(value).slice('<file: '.length, -1), file }];
  });
  if (attached.length === 0) return null;
  return (
    <ul className={classes.files}>
      {attached.map(({ field, name, file }) => (
        <li key={field} className={classes.file}>
          {file.type.startsWith('image/') && <img src={file.dataUrl} alt={name} />}
          <div className={classes.name}>
            <Text size="sm" truncate title={name}>
              {name}
            </Text>
            <Text size="xs" c="dimmed">
              {field}
            </Text>
          </div>
          <CloseButton
            size="sm"
            aria-label={t('play.file.remove', { name })}
            onClick={() => draft.setField(field, undefined)}
          />
        </li>
      ))}
    </ul>
  );
}

/** Attaches a chosen file to a field of the request; `error` says why the last one was not. */
function useAttachFile(draft: RequestDraft): {
  error: string | null;
  attach(file: File | null, field: string): Promise<void>;
} {
  const { t } = useTranslation();
  const findFault = useFileFault();
  const [error, setError] = useState<string | null>(null);
  const attach = async (file: File | null, field: string): Promise<void> => {
    if (file === null) return;
    const fault = findFault(file, attachedBytes(draft, field));
    setError(fault);
    if (fault !== null) return;
    try {
      await draft.attach(file, field);
    } catch {
      setError(t('play.file.unreadable', { name: file.name }));
    }
  };
  return { error, attach };
}

/** What keeps a file from being attached beside others of this size; null: nothing. */
export function useFileFault(): (file: File, others: number) => string | null {
  const { t } = useTranslation();
  const format = useFormat();
  return ({ name, size }, others) => {
    const limit = format.bytes(maxFileBytes);
    if (size > maxFileBytes) return t('play.file.tooLarge', { name, size: format.bytes(size), limit });
    return size + others > maxFileBytes ? t('play.file.tooMuch', { name, limit }) : null;
  };
}

type FileFieldProps = FieldProps & { draft: RequestDraft };

/** A file that the model takes: chosen here, or given by its URL. */
export function FileField({ name, label, help, schema, isRequired, refusal, className, draft }: FileFieldProps) {
  const { t } = useTranslation();
  const { error, attach } = useAttachFile(draft);
  const reset = useRef<() => void>(null);
  const value = draft.body[name];
  const choose = (file: File | null): void => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    void attach(file, name);
  };
  return (
    <TextInput
      {...(className === undefined ? {} : { className })}
      label={label}
      description={help || t('play.file.orUrl')}
      placeholder="https://"
      required={isRequired}
      spellCheck={false}
      error={error ?? refusal}
      value={typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)}
      onChange={({ currentTarget }) => draft.setField(name, currentTarget.value || undefined)}
      rightSectionWidth={44}
      rightSection={
        <FileButton
          resetRef={reset}
          accept={`${schema['x-input']}/*`}
          onChange={choose}
          inputProps={{ 'aria-label': t('play.file.chooseFor', { field: label }) }}
        >
          {(props) => (
            <Tooltip label={t('play.file.choose')}>
              <ActionIcon {...props} variant="subtle" size={36} aria-label={t('play.file.chooseFor', { field: label })}>
                <IconPaperclip size={18} stroke={1.6} aria-hidden="true" />
              </ActionIcon>
            </Tooltip>
          )}
        </FileButton>
      }
    />
  );
}
