import { storedFileCleanUpSteps } from '../files/index.ts';
import { type CleanUpStep, holdSlotUntilSent, type Sentence } from '../kernel/index.ts';
import { type KeptResultRecord, LONGEST_RESULT_TRIES_MS, PREVIEW_KIND, type TaskRecord } from '../store/ports/index.ts';
import type { ContentRequest } from '../vendors/index.ts';
import { createStorageCharge } from './copies/charge-storage.ts';
import { createResultWorker, type ResultStats } from './copies/result-worker.ts';
import { type CaseLinks, createCaseLinks } from './links/case-links.ts';
import { createVideoLinks, issueArtifactLinks, type LinkVideo } from './links/issue-artifact-links.ts';
import { revokeTaskLinks } from './links/link-versions.ts';
import { acceptPreview, type OfferedPreview } from './previews/accept-preview.ts';
import { describePosters, type Preview } from './previews/describe-previews.ts';
import { type ArtifactList, describeArtifacts } from './serving/describe-artifacts.ts';
import { openContent } from './serving/open-content.ts';
import { type ArtifactLink, openLinkedArtifact } from './serving/open-linked-artifact.ts';
import type { ArtifactChoice, Content, ResultDeps } from './types.ts';

/** Lost results are counted for this long. */
const LOST_SECONDS = 7 * 86_400;

export type KeptUsage = {
  /** Whether anything is kept now. */
  isOffered: boolean;
  bytes: number;
  /** Number of kept files, with those of requests. */
  results: number;
  /** Null: no limit. */
  quotaBytes: number | null;
  /** 0: the link never expires. */
  days: number;
  usdPerGbDay: number;
};

export type Results = {
  start(): Promise<void>;
  /** Ends running copies, which other nodes or the next start make again. */
  stop(): Promise<void>;
  /** Call after this process has written a pending result. */
  wake(): void;
  stats(): ResultStats;
  /** Why nothing can be kept or served at this node; undefined if it can, as far as is known. */
  findFault(): Promise<Sentence | undefined>;
  /** Results of all nodes: pending, kept, and lost within a week; bytes and number of the files. */
  depth(): Promise<{ pending: number; kept: number; lost: number; bytes: number; files: number }>;
  /** What is kept of a task, or is to be. */
  ofTask(taskId: string): Promise<KeptResultRecord[]>;
  /** What a user keeps, and on which terms. */
  usage(user: { id: number; group: string }): Promise<KeptUsage>;
  /** Tries again what was not kept of a task. Returns how many results that are. */
  retry(taskId: string): Promise<number>;
  readonly cleanUpSteps: readonly CleanUpStep[];
  /** `expiresIn`: seconds until its links end, as the client sent them. @throws tasks.artifact_* */
  artifacts(task: TaskRecord, expiresIn?: string | null): Promise<ArtifactList>;
  /**
   * Takes a preview from the browser of a person who may see the task.
   * @throws tasks.task_not_found, also for a task that the reader may not see, tasks.preview_*,
   *   tasks.artifact_*
   */
  acceptPreview(preview: OfferedPreview): Promise<void>;
  /** A preview of each of these tasks that has one, by its id. */
  posters(
    tasks: readonly Pick<TaskRecord, 'taskId' | 'userId' | 'status' | 'linkVersions'>[],
  ): Promise<Map<string, Preview>>;
  /** Ends the links of an ended task made so far, or of one artifact. @throws tasks.artifact_* */
  revokeLinks(task: TaskRecord, artifactKey?: string): Promise<void>;
  /** Downloads an artifact. @throws tasks.artifact_*, also when too many downloads are running */
  content(task: TaskRecord, choice: ArtifactChoice, request: ContentRequest): Promise<Content>;
  /**
   * Opens it for anyone who has a link.
   * @throws tasks.artifact_not_found for any failure, tasks.artifact_access_limited for too many
   */
  contentByLink(link: ArtifactLink, request: ContentRequest): Promise<Content>;
  /** An artifact for another room, without a slot of the downloads. @throws tasks.artifact_* */
  open(download: Parameters<typeof openContent>[1]): Promise<Content>;
  /** Links to a task's artifacts, by their keys. */
  issueLinks(task: TaskRecord, life: { base: string }): ReturnType<typeof issueArtifactLinks>;
  /** Links to the videos of a user's tasks, which work without an API key. */
  linkVideos(userId: number): Promise<LinkVideo>;
  /** The address that links begin with; undefined: no links can be made. */
  publicAddress(): string | undefined;
  /** Signed links to case files. */
  readonly caseLinks: CaseLinks;
};

/** Results that stay when their vendor drops them: pending, copied by any node, served, swept. */
export function createResults(deps: ResultDeps): Results {
  const { store, clock, storage } = deps;
  const ofTask = async (taskId: string): Promise<KeptResultRecord[]> =>
    (await store.results.ofTasks([taskId])).filter(({ kind }) => kind !== PREVIEW_KIND);
  const worker = createResultWorker(deps);
  return {
    async start() {
      if (store.dialect === 'sqlite') await store.results.expireLeases();
      worker.start();
    },
    stop: worker.stop,
    wake: worker.wake,
    stats: worker.stats,
    findFault: async () => (await storage.files.findFault()) ?? worker.stats().storageError,
    depth: () => store.results.depth(clock.unix() - LOST_SECONDS),
    ofTask,
    async usage({ id, group }) {
      const { keep, keepInputs, storageQuotaFor, daysFor, usdPerGbDayFor } = storage.settings();
      return {
        ...(await store.results.usage(id)),
        isOffered: keep !== 'off' || keepInputs,
        quotaBytes: storageQuotaFor(group) ?? null,
        days: daysFor(group),
        usdPerGbDay: usdPerGbDayFor(group),
      };
    },
    async retry(taskId) {
      let retried = 0;
      for (const { id, state } of await ofTask(taskId)) {
        if (state !== 'kept' && (await store.results.retry(id, LONGEST_RESULT_TRIES_MS))) retried += 1;
      }
      worker.wake();
      return retried;
    },
    // What is over goes first, so that nobody pays for it.
    cleanUpSteps: [...storedFileCleanUpSteps(deps), createStorageCharge(deps)],
    artifacts: (task, expiresIn) => describeArtifacts(deps, task, expiresIn),
    acceptPreview: (preview) => acceptPreview(deps, preview),
    posters: (tasks) => describePosters(deps, tasks),
    revokeLinks: (task, artifactKey) => revokeTaskLinks(deps, task, artifactKey),
    content: async (task, choice, request) =>
      holdSlotUntilSent(deps.vendors.downloads.acquire(task.userId, 'download'), (onStreamEnd) =>
        openContent(deps, { task, choice, client: { ...request, onStreamEnd } }),
      ),
    contentByLink: (link, request) => openLinkedArtifact(deps, link, request),
    open: (download) => openContent(deps, download),
    issueLinks: (task, life) => issueArtifactLinks(deps, task, life),
    linkVideos: (userId) => createVideoLinks(deps, userId),
    publicAddress: () => deps.links.publicAddress(),
    caseLinks: createCaseLinks(deps),
  };
}
