import type { Build } from './builds.ts';
import { type Compared, compareFigures, orderOfRuns, type Side } from './compare-figures.ts';
import type { Figure } from './figures.ts';
import type { Part } from './part.ts';
import type { Sizes } from './read-options.ts';

export type PartResult = {
  figures: Compared[];
  /** Why the other build has no figures. */
  otherFailed: string | undefined;
};

/**
 * Runs a part on both builds in turns. A failure of this build is a failure of the bench; one of
 * the other build means that it cannot do what is measured, and it is left out.
 */
export async function runPart(
  part: Part,
  { builds, repeat, sizes }: { builds: { this: Build; other: Build | undefined }; repeat: number; sizes: Sizes },
): Promise<PartResult> {
  const runs: Record<Side, Figure[][]> = { this: [], other: [] };
  let otherFailed: string | undefined;
  for (const side of orderOfRuns(repeat, builds.other !== undefined)) {
    const build = builds[side];
    if (build === undefined || (side === 'other' && otherFailed !== undefined)) continue;
    try {
      runs[side].push(await part({ ...sizes, build }));
    } catch (error) {
      if (side === 'this') throw error;
      otherFailed = error instanceof Error ? error.message : String(error);
      runs.other = [];
    }
  }
  return { figures: compareFigures(runs), otherFailed };
}
