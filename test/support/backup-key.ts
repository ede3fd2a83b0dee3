import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { temporaryFolder } from './temporary-folder.ts';

/**
 * A key of age that seals the secrets in backups, for tests that are not about passphrases: each
 * use of a passphrase takes most of a second.
 */
export async function makeBackupKey(): Promise<{ recipient: string; identityFile: string }> {
  const identity = await generateIdentity();
  const identityFile = join(temporaryFolder(), 'identity');
  writeFileSync(identityFile, `# created by a test\n${identity}\n`);
  return { recipient: await identityToRecipient(identity), identityFile };
}
