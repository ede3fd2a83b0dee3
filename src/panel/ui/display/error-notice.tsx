import { Alert, Code, Text } from '@mantine/core';
import { IconAlertCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import { errorMessage } from '../../api/error-message.ts';
import type { TextKey } from '../../i18n/texts.ts';
import classes from './error-notice.module.css';

type ErrorNoticeProps = {
  /** What failed, above the reason. */
  heading?: string;
  error: unknown;
  /** Texts of this page for some API codes. */
  codeTexts?: Readonly<Record<string, TextKey>>;
  /** A button that may help. */
  action?: ReactNode;
};

/**
 * An alert that explains a failed call. Unexpected errors include the request id, to find them in
 * the log.
 */
export function ErrorNotice({ heading, error, codeTexts = {}, action }: ErrorNoticeProps) {
  const { t, i18n } = useTranslation();
  const requestId = error instanceof ApiError && (error.status === 0 || error.status >= 500) ? error.requestId : null;
  const codeText = error instanceof ApiError ? codeTexts[error.code] : undefined;
  return (
    <Alert
      color="red"
      variant="light"
      icon={<IconAlertCircle size={20} stroke={1.6} aria-hidden="true" />}
      role="alert"
    >
      <div className={classes.content} data-not-loaded={heading !== undefined || undefined}>
        <div>
          {heading !== undefined && (
            <Text size="sm" fw={600} inherit>
              {heading}
            </Text>
          )}
          <Text size="sm" inherit>
            {codeText === undefined ? errorMessage(error, t, i18n.language) : t(codeText)}
          </Text>
          {requestId !== null && (
            <Text size="xs" c="dimmed" mt={4}>
              {t('error.reference', { requestId: '' })}
              <Code>{requestId}</Code>
            </Text>
          )}
        </div>
        {action}
      </div>
    </Alert>
  );
}
