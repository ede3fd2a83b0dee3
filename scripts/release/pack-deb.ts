import { type PackageInput, runNfpm } from './run-nfpm.ts';

/** For Debian 12, Ubuntu 22.04 and later. */
export const packDeb = (input: PackageInput): Promise<string> =>
  runNfpm('deb', input, ['libc6', 'util-linux', 'passwd']);
