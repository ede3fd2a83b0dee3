import { Modal } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useLayoutEffect } from 'react';
import { useTranslation } from 'react-i18next';

/** Above every dialog of the page. */
const zIndex = 1000;

/**
 * Covers a page whose session has ended until somebody signs in. Then the page reads what it could
 * not read before.
 */
export function SignInAgain({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const queries = useQueryClient();
  useLayoutEffect(() => {
    // Nobody reads or reaches what is below, by a screen reader either.
    const page = document.getElementById('root');
    if (page === null) return;
    page.inert = true;
    page.style.visibility = 'hidden';
    return () => {
      page.inert = false;
      page.style.visibility = '';
    };
  }, []);
  useEffect(() => {
    const { title } = document;
    return () => {
      document.title = title;
      void queries.invalidateQueries();
    };
  }, [queries]);
  return (
    <Modal.Root opened fullScreen onClose={() => {}} closeOnEscape={false} zIndex={zIndex} returnFocus={false}>
      <Modal.Content aria-label={t('signIn.title')}>{children}</Modal.Content>
    </Modal.Root>
  );
}
