/**
 * Compares semantic versions: negative if `a` is older than `b`. Build metadata is ignored. Numbers
 * may have any length; the runtime's own comparison throws on those beyond its range.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [readPrecedence(a), readPrecedence(b)];
  for (const [index, one] of left.core.entries()) {
    const order = compareParts(one, right.core[index] ?? '0');
    if (order !== 0) return order;
  }
  if (left.pre.length === 0 || right.pre.length === 0) return right.pre.length - left.pre.length;
  for (const [index, one] of left.pre.entries()) {
    const other = right.pre[index];
    const order = other === undefined ? 1 : compareParts(one, other);
    if (order !== 0) return order;
  }
  return left.pre.length - right.pre.length;
}

const NUMBER = /^\d+$/;

function readPrecedence(version: string): { core: string[]; pre: string[] } {
  const [release = ''] = version.split('+', 1);
  const [core = ''] = release.split('-', 1);
  const pre = release.slice(core.length + 1);
  return { core: core.split('.'), pre: pre === '' ? [] : pre.split('.') };
}

/** Numbers come before texts. They have no leading zeros, so the longer one is larger. */
function compareParts(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [NUMBER.test(a), NUMBER.test(b)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  if (isNumber && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

const isPrerelease = (version: string): boolean => /^\d+\.\d+\.\d+-/.test(version);

/** The newest release, or the newest pre-release if there are no releases. */
export function newestVersion(versions: readonly string[]): string | undefined {
  const releases = versions.filter((version) => !isPrerelease(version));
  return (releases.length > 0 ? releases : [...versions]).sort(compareVersions).at(-1);
}
