import { type PackageInput, runNfpm } from './run-nfpm.ts';

/** For Fedora, RHEL and its kin. */
export const packRpm = (input: PackageInput): Promise<string> =>
  runNfpm('rpm', input, ['glibc', 'util-linux', 'shadow-utils']);
