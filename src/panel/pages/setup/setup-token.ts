/**
 * Reads the one-time token from terminal output: the whole link, its fragment, or the bare token.
 * Empty if there is none.
 */
export function readSetupToken(text: string): string {
  const trimmed = text.trim();
  const named = /[#&]token=([^&\s]*)/.exec(trimmed)?.[1];
  if (named !== undefined) return decode(named);
  return /^[^\s/#?]+$/.test(trimmed) ? trimmed : '';
}

/** Removes the token from the address bar and the history, and returns it. */
export function takeTokenFromAddress(): string {
  const token = readSetupToken(window.location.hash);
  if (token === '' || !window.location.hash.includes('token=')) return '';
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  return token;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
