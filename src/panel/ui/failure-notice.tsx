import { Alert, Code, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/api-error.ts';
import { describeError } from '../api/describe-error.ts';
import { IconAlert } from './icons.tsx';

/** What a refused or failed call means, read out at once. Unexplained failures carry the request's id for the log. */
export function FailureNotice({ error }: { error: unknown }) {
  const { t, i18n } = useTranslation();
  const requestId = error instanceof ApiError && (error.status === 0 || error.status >= 500) ? error.requestId : null;
  return (
    <Alert color="red" variant="light" icon={<IconAlert />} role="alert">
      <Text size="sm" inherit>
        {describeError(error, t, i18n.language)}
      </Text>
      {requestId !== null && (
        <Text size="xs" c="dimmed" mt={4}>
          {t('error.reference', { requestId: '' })}
          <Code>{requestId}</Code>
        </Text>
      )}
    </Alert>
  );
}
