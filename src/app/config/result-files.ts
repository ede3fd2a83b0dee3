import { join, resolve } from 'node:path';
import { createFolderFiles } from '../../store/index.ts';
import type { FileStore } from '../../store/ports/index.ts';
import type { Config } from './config-variables.ts';

/** In the data directory. */
const RESULTS_FOLDER = 'results';
const MIB = 1024 * 1024;

/** The place of kept results. */
export const openResultFiles = ({ dataDir, resultsMinFreeMb }: Config): FileStore =>
  createFolderFiles({ folder: join(resolve(dataDir), RESULTS_FOLDER), minFreeBytes: resultsMinFreeMb * MIB });
