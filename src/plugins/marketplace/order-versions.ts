/**
 * Semantic versions in order of precedence: negative when `a` is older than `b`. Build metadata
 * does not count.
 */
export const compareVersions = (a: string, b: string): number => Bun.semver.order(a, b);

const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version);

/** The newest release; a pre-release only where there is nothing else. */
export function newestVersion(versions: readonly string[]): string | undefined {
  const releases = versions.filter((version) => !isPrerelease(version));
  return (releases.length > 0 ? releases : [...versions]).sort(compareVersions).at(-1);
}
