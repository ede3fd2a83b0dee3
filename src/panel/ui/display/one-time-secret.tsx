import { Alert, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyField } from './copy-field.tsx';

type OneTimeSecretProps = {
  /** What it is, in bold. */
  heading: string;
  /** That it is not shown again, and what to do with it. */
  text: ReactNode;
  /** The secret itself. */
  secret: string;
  children?: ReactNode;
};

/** A secret that the server gives once. It takes the place of the form that made it. */
export function OneTimeSecret({ heading, text, secret, children }: OneTimeSecretProps) {
  return (
    <Alert color="gate" variant="light" title={heading} role="status">
      <Stack gap="sm">
        <Text size="sm" lh={1.6} component="div">
          {text}
        </Text>
        <CopyField text={secret} />
        {children}
      </Stack>
    </Alert>
  );
}
