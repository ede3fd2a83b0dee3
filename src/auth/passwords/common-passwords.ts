/**
 * Whether a password in lower case is one of the 49,000 most used ones (the dictionary of zxcvbn).
 * The list is loaded when the first password is set: a gateway that only serves requests never
 * holds it in memory.
 */
export async function isCommonPassword(lowerCase: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return dictionary['passwords-common'].includes(lowerCase);
}
