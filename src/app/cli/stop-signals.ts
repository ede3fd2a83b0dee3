/** Aborted by the first SIGINT (Ctrl-C) or SIGTERM; a second one ends the process at once. */
export function stopSignals(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
  return stopping.signal;
}
