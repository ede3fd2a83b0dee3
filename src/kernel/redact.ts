/** Text with every given secret replaced. Secrets shorter than four characters are left: they would blank ordinary words. */
export function redactSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let out = text;
  for (const secret of secrets) {
    if (secret && secret.length >= 4) out = out.replaceAll(secret, '[redacted]');
  }
  return out;
}

const CONTROL = /\p{Cc}/gu;

/** A message from a plugin or a vendor made fit for a caller: control characters to spaces, at most `max` code points. */
export function sanitizeMessage(text: string, max = 512): string {
  const clean = text.replace(CONTROL, ' ').trim();
  const points = [...clean];
  return points.length > max ? points.slice(0, max).join('') : clean;
}
