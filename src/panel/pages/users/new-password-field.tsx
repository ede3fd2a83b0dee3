import { Button, Group, PasswordInput, Text } from '@mantine/core';
import { IconCheck, IconCopy, IconRefresh } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { copyText } from '../../ui/display/copy-field.tsx';
import type { Focusable } from '../../ui/form/use-form.ts';

/** 32 characters that are not taken for each other, so that five bits choose one. */
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
const groups = 5;
const groupLength = 4;

/** 100 random bits in groups that can be read aloud, such as `k4mz-…`. */
function generatePassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(groups * groupLength));
  const letters = [...bytes].map((byte) => alphabet[byte % alphabet.length]).join('');
  return Array.from({ length: groups }, (_, at) => letters.slice(at * groupLength, (at + 1) * groupLength)).join('-');
}

type NewPasswordFieldProps = {
  label: string;
  value: string;
  onChange(password: string): void;
  error: string | null;
  ref(element: Focusable | null): void;
  hasFocus?: boolean;
};

/** A password for somebody else, typed or generated. A generated one is shown, to be copied. */
export function NewPasswordField({ label, value, onChange, error, ref, hasFocus = false }: NewPasswordFieldProps) {
  const { t } = useTranslation();
  const [generated, setGenerated] = useState('');
  const [isVisible, setVisible] = useState(false);
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null);
  const isGenerated = generated !== '' && value === generated;
  const icon = { size: 16, stroke: 1.6, 'aria-hidden': true } as const;
  const generate = (): void => {
    const password = generatePassword();
    setGenerated(password);
    setVisible(true);
    setOutcome(null);
    onChange(password);
  };
  return (
    <div>
      <PasswordInput
        label={label}
        description={t('setup.passwordHint')}
        required
        autoComplete="new-password"
        visible={isVisible}
        onVisibilityChange={setVisible}
        visibilityToggleButtonProps={{ 'aria-label': t('app.showPassword') }}
        data-autofocus={hasFocus || undefined}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        error={error}
        ref={ref}
      />
      <Group gap="xs" mt={8}>
        <Button variant="default" size="xs" leftSection={<IconRefresh {...icon} />} onClick={generate}>
          {t('users.generatePassword')}
        </Button>
        {isGenerated && (
          <Button
            variant="default"
            size="xs"
            leftSection={outcome === 'copied' ? <IconCheck {...icon} /> : <IconCopy {...icon} />}
            onClick={() => void copyText(value).then((isCopied) => setOutcome(isCopied ? 'copied' : 'failed'))}
          >
            {t(outcome === 'copied' ? 'app.copied' : 'app.copy')}
          </Button>
        )}
        <Text size="xs" c="dimmed" aria-live="polite">
          {isGenerated && t(outcome === 'failed' ? 'app.copyFailed' : 'users.passwordOnce')}
        </Text>
      </Group>
    </div>
  );
}
