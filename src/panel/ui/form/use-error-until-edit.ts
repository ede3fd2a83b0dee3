import { useState } from 'react';

/** The error of a request until `dismiss`, which an edit calls: it says nothing of what is typed now. */
export function useErrorUntilEdit(error: Error | null): { error: Error | null; dismiss(): void } {
  const [dismissed, setDismissed] = useState<Error | null>(null);
  return { error: error === dismissed ? null : error, dismiss: () => setDismissed(error) };
}
