import { Anchor, PasswordInput, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { OptionInputProps } from './option-input-props.ts';
import classes from './settings.module.css';

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
