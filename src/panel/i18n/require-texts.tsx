import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { FullPageLoader } from '../ui/page/full-page.tsx';
import { hasAllTexts, loadAllTexts } from './create-i18n.ts';

/** Waits for the texts of the pages after sign-in, which those before it do without. */
export function RequireTexts({ children }: { children: ReactNode }) {
  const { i18n } = useTranslation();
  const [isLoaded, setLoaded] = useState(() => hasAllTexts(i18n));
  const [failure, setFailure] = useState<unknown>(null);
  useEffect(() => {
    if (!isLoaded) loadAllTexts(i18n).then(() => setLoaded(true), setFailure);
  }, [isLoaded, i18n]);
  // As with any other file that does not come: the crash page says so and loads anew.
  if (failure !== null) throw failure;
  return isLoaded ? children : <FullPageLoader />;
}
