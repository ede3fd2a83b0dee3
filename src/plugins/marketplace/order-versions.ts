/** Compares semantic versions: negative if `a` is older than `b`. Build metadata is ignored. */
export const compareVersions = (a: string, b: string): number => Bun.semver.order(a, b);

const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version);

/** The newest release, or the newest pre-release if there are no releases. */
export function newestVersion(versions: readonly string[]): string | undefined {
  const releases = versions.filter((version) => !isPrerelease(version));
  return (releases.length > 0 ? releases : [...versions]).sort(compareVersions).at(-1);
}
