import { Anchor, Button, FileButton, Group, Input, PasswordInput, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Option } from '../../api/types.ts';
import { useApiQuery } from '../../session/use-api.ts';
import { RowsFields } from '../../ui/form/rows/rows-fields.tsx';
import { hasFaults, type Row, readCells, toRows } from '../../ui/form/rows/rows-format.ts';
import { type RowsOption, rowsOptions } from './rows-options.ts';
import classes from './settings.module.css';

export type OptionInputProps = {
  option: Option;
  value: string;
  label: ReactNode;
  help: ReactNode;
  /** Whether it cannot be changed now. */
  isDisabled?: boolean;
  error: string | null;
  /** undefined restores the stored value. */
  onChange(value: string | undefined): void;
};

/** Hides the button that shows a secret while nothing is typed. */
export const hideShowButton = (typed: string) => (typed === '' ? { rightSection: false } : {});

/** The API sends this in place of a stored secret. */
const mask = '***';

/** Secrets are write-only: replace, remove or keep. */
export function SecretInput({ option, value, label, help, error, onChange }: OptionInputProps) {
  const { t } = useTranslation();
  const isStored = option.value === mask;
  const isRemoved = isStored && value === '';
  const isKept = value === option.value;
  const state = option.unreadable
    ? 'settings.secretUnreadable'
    : isRemoved
      ? 'settings.secretRemoved'
      : isStored
        ? 'settings.secretStored'
        : 'settings.secretNone';
  return (
    <div>
      <PasswordInput
        label={label}
        description={help}
        error={error}
        classNames={{ wrapper: classes.medium ?? '' }}
        value={isKept ? '' : value}
        placeholder={isStored && !isRemoved ? '••••••••••••' : ''}
        autoComplete="new-password"
        spellCheck={false}
        visibilityToggleButtonProps={{ 'aria-label': t('settings.showTyped') }}
        {...hideShowButton(isKept ? '' : value)}
        onChange={(event) => onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value)}
      />
      <Text size="xs" c={option.unreadable ? 'red' : 'dimmed'} mt={6}>
        {t(state)}{' '}
        {option.key === 'alerts.webhook_secret' && (
          <>
            <Anchor component="button" type="button" size="xs" onClick={() => onChange(generateSigningSecret())}>
              {t('settings.secretGenerate')}
            </Anchor>{' '}
          </>
        )}
        {isStored && (
          <Anchor component="button" type="button" size="xs" onClick={() => onChange(isRemoved ? undefined : '')}>
            {t(isRemoved ? 'settings.secretKeep' : 'settings.secretRemove')}
          </Anchor>
        )}
      </Text>
    </div>
  );
}

/** 32 random bytes as Standard Webhooks writes them. The eye of the field shows them. */
const generateSigningSecret = (): string =>
  `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;

/** The gateway draws the logo small; the server takes at most 64 KiB and 512 pixels. */
const maxSide = 256;

/** Chooses the logo. Any image that the browser can draw becomes a PNG of a fitting size. */
export function LogoInput({ value, label, help, error, onChange }: OptionInputProps) {
  const { t } = useTranslation();
  const [isUnreadable, setUnreadable] = useState(false);
  const reset = useRef<() => void>(null);
  const choose = async (file: File | null): Promise<void> => {
    // Without a reset, choosing the same file again raises no event.
    reset.current?.();
    if (file === null) return;
    try {
      onChange(await drawPng(file));
      setUnreadable(false);
    } catch {
      setUnreadable(true);
    }
  };
  return (
    <Input.Wrapper label={label} description={help} error={isUnreadable ? t('settings.logo.unreadable') : error}>
      <Group gap="md" mt={8}>
        {value !== '' && <img src={value} alt={t('settings.logo.preview')} width={48} height={48} />}
        <FileButton
          resetRef={reset}
          accept="image/png,image/jpeg,image/webp,image/svg+xml"
          inputProps={{ 'aria-label': t('settings.logo.choose') }}
          onChange={(file) => void choose(file)}
        >
          {(props) => (
            <Button {...props} variant="default">
              {t('settings.logo.choose')}
            </Button>
          )}
        </FileButton>
        {value === '' ? (
          <Text size="sm" c="dimmed">
            {t('settings.logo.none')}
          </Text>
        ) : (
          <Button variant="subtle" color="gray" onClick={() => onChange('')}>
            {t('settings.logo.remove')}
          </Button>
        )}
      </Group>
    </Input.Wrapper>
  );
}

/** As a square PNG, the picture whole and in the middle. */
async function drawPng(file: File): Promise<string> {
  const url = URL.createObjectURL(file);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    if (context === null) throw new Error('no canvas');
    canvas.width = maxSide;
    canvas.height = maxSide;
    const [width, height] = [image.naturalWidth || maxSide, image.naturalHeight || maxSide];
    const scale = maxSide / Math.max(width, height);
    const [across, down] = [width * scale, height * scale];
    context.drawImage(image, (maxSide - across) / 2, (maxSide - down) / 2, across, down);
    return canvas.toDataURL('image/png');
  } finally {
    URL.revokeObjectURL(url);
  }
}

type RowsInputProps = OptionInputProps & { format: RowsOption };

/** Edits a JSON value as rows. The value is an empty string while a field is invalid. */
export function RowsInput({ format, option, value, label, help, error, isDisabled = false, onChange }: RowsInputProps) {
  const { t } = useTranslation();
  const options = useApiQuery<Option[]>('/api/option');
  const [rows, setRows] = useState(() => toRows(format.parse(value)));
  const [lastSent, setLastSent] = useState(value);
  // A value that differs from the rows was discarded or saved elsewhere: load it.
  if (value !== lastSent && value === option.value) {
    setRows(toRows(format.parse(value)));
    setLastSent(value);
  }
  const setAndSend = (next: readonly Row[]): void => {
    const text = hasFaults(t, next, format) ? '' : format.serialize(readCells(next));
    // The stored text may have other spaces or another order.
    const isStored = text === format.serialize(format.parse(option.value));
    setRows(next);
    setLastSent(isStored ? option.value : text);
    onChange(isStored ? undefined : text);
  };
  return (
    <fieldset className={classes.fieldset} disabled={isDisabled}>
      <legend>{label}</legend>
      <Input.Description>{help}</Input.Description>
      <RowsFields
        format={format}
        rows={rows}
        onChange={setAndSend}
        showsFaults={error !== null}
        groups={readGroups(options.data ?? [])}
      />
      {error !== null && value !== '' && (
        <Input.Error mt={8} role="alert">
          {error}
        </Input.Error>
      )}
    </fieldset>
  );
}

const readGroups = (options: readonly Option[]): readonly string[] =>
  rowsOptions.groups?.parse(options.find(({ key }) => key === 'groups')?.value ?? '').flatMap(([name]) => name ?? []) ??
  [];
