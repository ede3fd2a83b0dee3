/**
 * Whether a password, given in lower case, is one of the 49,000 most used ones (the dictionary of
 * zxcvbn, most used first). The list is loaded with the first password that is set: a gateway that
 * only serves never holds it.
 */
export async function isCommonPassword(lowerCase: string): Promise<boolean> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return dictionary['passwords-common'].includes(lowerCase);
}
