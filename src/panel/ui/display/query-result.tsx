import { Button, Skeleton, Stack } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.ts';
import type { TextKey } from '../../i18n/texts.ts';
import { ErrorNotice } from './error-notice.tsx';

/** The heading of the page or block around it, which names what did not load. */
export const HeadingContext = createContext<string | null>(null);

type QueryResultProps<T> = {
  query: UseQueryResult<T>;
  /** Shown while the first answer loads; grey lines by default. */
  pending?: ReactNode;
  /** Shown for a 404. */
  notFound?: ReactNode;
  /** Texts of this page for API codes, see `ErrorNotice`. */
  codeTexts?: Readonly<Record<string, TextKey>>;
  children(data: T): ReactNode;
};

/**
 * Renders a query: its data, its error with a retry button, or a placeholder. Old data stays
 * visible after a failed refetch.
 */
export function QueryResult<T>({ query, pending, notFound, codeTexts = {}, children }: QueryResultProps<T>) {
  const { t } = useTranslation();
  const heading = useContext(HeadingContext);
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && <ErrorNotice error={query.error} codeTexts={codeTexts} />}
        {children(query.data)}
      </>
    );
  }
  if (notFound !== undefined && query.error instanceof ApiError && query.error.isNotFound) {
    return <div role="alert">{notFound}</div>;
  }
  if (query.isError) {
    return (
      <ErrorNotice
        {...(heading === null ? {} : { heading: t('error.notLoaded', { what: heading }) })}
        error={query.error}
        codeTexts={codeTexts}
        action={
          <Button variant="default" onClick={() => void query.refetch()} loading={query.isFetching}>
            {t('app.retry')}
          </Button>
        }
      />
    );
  }
  return (
    <div role="status" aria-label={t('app.loading')}>
      {pending ?? (
        <Stack gap={12} aria-hidden="true">
          <Skeleton h={18} w="60%" />
          <Skeleton h={18} />
          <Skeleton h={18} w="80%" />
        </Stack>
      )}
    </div>
  );
}
