import { isAbsolute } from 'node:path';
import { err, ok } from '../../kernel/index.ts';
import { parsePublicKey } from '../../plugins/signing/keys.ts';
import type { ValueKind } from './config-kinds.ts';
import { variable } from './define-variable.ts';

declare const RELEASE_KEY: string;

/** The public key of the releases that the executable is one of; empty in a build of one's own. */
const BUILT_IN_KEY = typeof RELEASE_KEY === 'undefined' ? '' : RELEASE_KEY;

const releasePlace: ValueKind<string> = {
  type: 'address or folder',
  allowed: 'an address with https (https://example.com/releases/latest) or the absolute path of a folder',
  parse(value) {
    if (isAbsolute(value)) return ok(value);
    const url = URL.canParse(value) ? new URL(value) : undefined;
    return url?.protocol === 'https:' && url.search === '' && url.hash === '' ? ok(value) : err('');
  },
};

const publicKey: ValueKind<string> = {
  type: 'public key',
  allowed: 'a public key of minisign (RWQ…)',
  parse: (value) => (parsePublicKey(value) ? ok(value) : err('')),
};

/** Where `taskgate upgrade` finds releases, and whom it believes. */
export const UPGRADE_VARIABLES = {
  upgradeUrl: variable({
    env: 'UPGRADE_URL',
    group: 'server',
    doc: 'Where `taskgate upgrade` finds the files of the newest release. Nothing else reads it, and nothing is upgraded by itself.',
    kind: releasePlace,
    default: '',
    defaultText: 'unset: off',
    // It may name a user and a password.
    secret: true,
  }),
  upgradeKey: variable({
    env: 'UPGRADE_PUBLIC_KEY',
    group: 'server',
    doc: 'The key that must have signed a release for `taskgate upgrade`.',
    kind: publicKey,
    default: BUILT_IN_KEY,
    defaultText: 'the key that signed this release; unset in a build of your own',
  }),
};
