import { deflateRawSync } from 'node:zlib';
import { dictionary } from '@zxcvbn-ts/language-common';

/**
 * The most used passwords that nobody may choose (the dictionary of zxcvbn), without those that are
 * too short anyway, one a line. Imported as a macro: the call runs when the program is bundled, so
 * an executable holds these 90 KB and not the library's 410.
 */
export function embedCommonPasswords(shortest: number): string {
  const words = dictionary['passwords-common'].filter((word) => [...word].length >= shortest).sort();
  return deflateRawSync(words.join('\n')).toString('base64');
}
