import { createContext, useContext, useEffect } from 'react';

/** What the page behind a session that ended would lose. */
type TypedWork = {
  /** Whether a form of the page has something typed, also while it is being sent. */
  exists(): boolean;
  /** Sets what answers `exists`; returns how to remove it. */
  watch(exists: () => boolean): () => void;
};

export function createTypedWork(): TypedWork {
  const watched = new Set<() => boolean>();
  return {
    exists: () => [...watched].some((exists) => exists()),
    watch: (exists) => {
      watched.add(exists);
      return () => watched.delete(exists);
    },
  };
}

const TypedWorkContext = createContext<TypedWork | null>(null);

export const TypedWorkProvider = TypedWorkContext.Provider;

/** Tells the guard of the session what the page would lose. */
export function useTypedWork(exists: () => boolean): void {
  const work = useContext(TypedWorkContext);
  useEffect(() => work?.watch(exists), [work, exists]);
}
