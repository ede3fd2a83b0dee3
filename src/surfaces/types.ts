import type { Results } from '../results/index.ts';
import type { TaskDeps } from '../tasks/index.ts';

/** Dependencies inside the room. */
export type SurfaceDeps = TaskDeps & {
  results: Pick<Results, 'open' | 'content' | 'issueLinks' | 'linkVideos' | 'publicAddress'>;
};
