import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyField } from './copy-field.tsx';

type OneTimeSecretProps = {
  /** What the secret is. */
  heading: string;
  /** That it is not shown again, and what to do with it. */
  text: ReactNode;
  secret: string;
  /** By the button or by the reader's own means. */
  onCopied?(): void;
  children?: ReactNode;
};

/** A secret that the server shows once. It replaces the form that created it. */
export function OneTimeSecret({ heading, text, secret, onCopied, children }: OneTimeSecretProps) {
  return (
    <Alert color="gate" variant="light" title={heading} role="status">
      <Stack gap="sm">
        <Text size="sm" lh={1.6} component="div">
          {text}
        </Text>
        <CopyField text={secret} {...(onCopied === undefined ? {} : { onCopied })} />
        {children}
      </Stack>
    </Alert>
  );
}
