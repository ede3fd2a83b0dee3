import { useState } from 'react';

/** The error of a request until an edit calls `dismiss`: it says nothing of what is typed now. */
export function useErrorUntilEdit(error: Error | null): { error: Error | null; dismiss(): void } {
  const [dismissed, setDismissed] = useState<Error | null>(null);
  return { error: error === dismissed ? null : error, dismiss: () => setDismissed(error) };
}
