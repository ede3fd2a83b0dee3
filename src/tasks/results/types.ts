import type { FileStore } from '../../store/ports/index.ts';

/** What administrators decide about kept results; may change while the gateway runs. */
export type ResultSettings = {
  /** `off`: results are handed through. `asked`: those are kept whose request or API key asks. */
  keep: 'off' | 'asked' | 'all';
  /** Whether the files of requests are kept, so that their tasks can be run again. */
  keepInputs: boolean;
  /** Days for which the results of a group's users are kept; 0: for ever. */
  daysOf(group: string): number;
  /** Bytes that a user of a group may keep; undefined: no limit. */
  quotaOf(group: string): number | undefined;
  /** USD for a GB (10^9 bytes) and day that users of a group pay; 0: nothing. */
  usdPerGbDayOf(group: string): number;
  /** Whether downloads are redirected to the place of the files, where it makes links. */
  redirects: boolean;
  /** Bytes that all previews together may take; 0: there are none. */
  previewBytes: number;
};

/** Dependencies that `app` passes for kept results. */
export type ResultServices = {
  files: FileStore;
  settings: () => ResultSettings;
  /** RESULTS_MAX_FILE_MB in bytes. */
  maxFileBytes: number;
};
