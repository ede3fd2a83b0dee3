import { mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { S3_KEYS, startS3Server } from '../../test/support/s3-server.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';

const DIGEST = /^[0-9a-f]{64}$/;
/** Files that the clean-up may take are older than an hour, interrupted writes older than a day. */
const AGED_SECONDS = 3 * 24 * 3600;

/** Where the nodes of a soak keep results. */
export type ResultsStorage = {
  env: Record<string, string>;
  /** Paths of the kept files, by digest. */
  files(): Map<string, string>;
  /** What interrupted writes left behind. */
  partial(): string[];
  /** Makes everything look old. */
  age(): void;
  /** Ends the place for a moment, without warning; undefined where nothing can be ended. */
  interrupt: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
};

/** A folder that all nodes have. */
export function openSharedFolder(): ResultsStorage {
  const folder = join(temporaryFolder(), 'shared');
  mkdirSync(folder);
  return {
    ...describeFolder(folder, '.partial'),
    env: { RESULTS_URL: folder },
    interrupt: undefined,
    stop: async () => {},
  };
}

/** A bucket of a real server, which `interrupt` kills and starts again. */
export async function openBucketServer(downMs: number): Promise<ResultsStorage> {
  const server = await startS3Server();
  return {
    ...describeFolder(join(server.folder, 'kept'), join('..', '.sgwtmp', 'multipart')),
    env: {
      RESULTS_URL: `s3://results/kept?endpoint=${server.url}`,
      RESULTS_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      RESULTS_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    },
    async interrupt() {
      await server.kill();
      await Bun.sleep(downMs);
      await server.start();
    },
    stop: server.stop,
  };
}

function describeFolder(folder: string, partial: string): Pick<ResultsStorage, 'files' | 'partial' | 'age'> {
  const paths = (below: string): string[] => {
    try {
      const names = readdirSync(below, { recursive: true }) as string[];
      return names.map((name) => join(below, name)).filter((path) => statSync(path).isFile());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  };
  const nameFor = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  return {
    files: () =>
      new Map(
        paths(folder)
          .filter((path) => DIGEST.test(nameFor(path)))
          .map((path) => [nameFor(path), path]),
      ),
    partial: () => paths(join(folder, partial)),
    age() {
      const at = Date.now() / 1000 - AGED_SECONDS;
      for (const path of paths(folder)) utimesSync(path, at, at);
    },
  };
}
