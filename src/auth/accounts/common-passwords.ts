import { inflateRawSync } from 'node:zlib';
import { embedCommonPasswords } from './embed-common-passwords.ts' with { type: 'macro' };

/** They are in lower case. Those of fewer than eight characters are refused for their length. */
const text = inflateRawSync(Buffer.from(embedCommonPasswords(8), 'base64')).toString();

export const commonPasswords: ReadonlySet<string> = new Set(text.split('\n'));
