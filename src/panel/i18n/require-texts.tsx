import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FullPageLoader } from '../ui/page/full-page.tsx';
import { hasAllTexts, loadAllTexts } from './create-i18n.ts';

/**
 * Renders its children once the texts of the pages after sign-in are loaded. They are not in the
 * first chunk.
 */
export function RequireTexts({ children }: { children: ReactNode }) {
  const { i18n } = useTranslation();
  const [isLoaded, setLoaded] = useState(() => hasAllTexts(i18n));
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    if (!isLoaded) loadAllTexts(i18n).then(() => setLoaded(true), setFailure);
  }, [isLoaded, i18n]);
  // The error boundary offers a reload, as for any other chunk that fails to load.
  if (failure !== null) throw failure;
  return isLoaded ? children : <FullPageLoader />;
}
