/** A typed code in the form that is compared: without spaces and hyphens, in capitals. */
export type TypedCode = { kind: 'app' | 'backup'; text: string };

/**
 * Six digits are a code of an authenticator app, eight letters or digits a backup code. Anything
 * else is neither.
 */
export function readCode(typed: string): TypedCode | undefined {
  const text = typed.replace(/[\s-]/g, '').toUpperCase();
  if (/^\d{6}$/.test(text)) return { kind: 'app', text };
  if (/^[A-Z0-9]{8}$/.test(text)) return { kind: 'backup', text };
  return undefined;
}
