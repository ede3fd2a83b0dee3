/** What a release holds an executable for. */
export type ReleaseTarget = {
  /** As in the names of files: `taskgate-1.2.3-linux-x64.tar.gz`. */
  name: string;
  /** Bun's name of it. */
  bun: string;
  executable: 'taskgate' | 'taskgate.exe';
  archive: 'tar.gz' | 'zip';
  /** Packages and the image are made of these, for this architecture. */
  packages?: 'amd64' | 'arm64';
};

const tar = { executable: 'taskgate', archive: 'tar.gz' } as const;

export const releaseTargets: readonly ReleaseTarget[] = [
  { name: 'linux-x64', bun: 'bun-linux-x64', ...tar, packages: 'amd64' },
  { name: 'linux-arm64', bun: 'bun-linux-arm64', ...tar, packages: 'arm64' },
  { name: 'linux-x64-musl', bun: 'bun-linux-x64-musl', ...tar },
  { name: 'linux-arm64-musl', bun: 'bun-linux-arm64-musl', ...tar },
  { name: 'darwin-arm64', bun: 'bun-darwin-arm64', ...tar },
  { name: 'darwin-x64', bun: 'bun-darwin-x64', ...tar },
  { name: 'windows-x64', bun: 'bun-windows-x64', executable: 'taskgate.exe', archive: 'zip' },
];
