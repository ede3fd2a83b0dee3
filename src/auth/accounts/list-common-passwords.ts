import { dictionary } from '@zxcvbn-ts/language-common';

/**
 * The most used passwords that nobody may choose (the dictionary of zxcvbn), in lower case and one
 * a line, without those of fewer characters than `shortest`. Imported as a macro: the call runs
 * when the program is bundled, so an executable holds these 170 KB and not the library's 430.
 */
export const listCommonPasswords = (shortest: number): string =>
  dictionary['passwords-common'].filter((word) => [...word].length >= shortest).join('\n');
