import { ActionIcon, FileButton, TextInput, Tooltip } from '@mantine/core';
import { IconPaperclip } from '@tabler/icons-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { localise } from '../../i18n/localise.ts';
import { humanizeFieldName } from '../../ui/display/humanize-field-name.ts';
import type { FieldProps } from './request-field.tsx';
import { useAttachFile } from './use-attach-file.ts';
import type { RequestDraft } from './use-request-draft.ts';

type FileFieldProps = FieldProps & { draft: RequestDraft };

/** A file that the model takes: chosen here, or given by its URL. */
export function FileField({ name, schema, isRequired, refusal, className, draft }: FileFieldProps) {
  const { t, i18n } = useTranslation();
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
      label={humanizeFieldName(name)}
      description={localise(schema['x-description'], i18n.language) || t('play.file.orUrl')}
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
          inputProps={{ 'aria-label': t('play.file.chooseFor', { field: humanizeFieldName(name) }) }}
        >
          {(props) => (
            <Tooltip label={t('play.file.choose')}>
              <ActionIcon
                {...props}
                variant="subtle"
                size={36}
                aria-label={t('play.file.chooseFor', { field: humanizeFieldName(name) })}
              >
                <IconPaperclip size={18} stroke={1.6} aria-hidden="true" />
              </ActionIcon>
            </Tooltip>
          )}
        </FileButton>
      }
    />
  );
}
