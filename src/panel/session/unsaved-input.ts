import { createContext, useContext, useEffect } from 'react';

/** What a page would lose with its session: input in its forms that was not saved. */
type UnsavedInput = {
  /** Whether a form of the page has something typed, also while it is being sent. */
  exists(): boolean;
  /** Sets what answers `exists`; returns how to remove it. */
  watch(exists: () => boolean): () => void;
};

export function createUnsavedInput(): UnsavedInput {
  const watched = new Set<() => boolean>();
  return {
    exists: () => [...watched].some((exists) => exists()),
    watch: (exists) => {
      watched.add(exists);
      return () => watched.delete(exists);
    },
  };
}

const UnsavedInputContext = createContext<UnsavedInput | null>(null);

export const UnsavedInputProvider = UnsavedInputContext.Provider;

/** Tells the guard of the session what the page would lose. */
export function useUnsavedInput(exists: () => boolean): void {
  const input = useContext(UnsavedInputContext);
  useEffect(() => input?.watch(exists), [input, exists]);
}
