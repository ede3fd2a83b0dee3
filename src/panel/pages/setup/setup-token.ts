/**
 * The one-time token in what the terminal printed: the whole link, its fragment, or the bare code.
 * Empty when there is none.
 */
export function readSetupToken(text: string): string {
  const trimmed = text.trim();
  const named = /[#&]token=([^&\s]*)/.exec(trimmed)?.[1];
  if (named !== undefined) return decode(named);
  return /^[^\s/#?]+$/.test(trimmed) ? trimmed : '';
}

/**
 * Takes the token out of the address, so that it stays neither in the history nor on the screen.
 */
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
