import type { ResultDeps } from '../results/index.ts';

/** Dependencies inside the room. */
export type SurfaceDeps = ResultDeps;
