import type { Build } from './builds.ts';
import type { Figure } from './figures.ts';
import type { Sizes } from './read-options.ts';

/** One measurement of one build. */
export type Run = Sizes & { build: Build };

/** Measures one run and leaves nothing behind. */
export type Part = (run: Run) => Promise<Figure[]>;
