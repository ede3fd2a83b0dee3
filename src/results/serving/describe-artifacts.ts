import type { StoredSentence } from '../../kernel/index.ts';
import type { Artifact } from '../../plugins/index.ts';
import { type KeptResultRecord, PREVIEW_KIND, type ResultState, type TaskRecord } from '../../store/ports/index.ts';
import { previewKey } from '../artifacts/artifact-keys.ts';
import { listTaskArtifacts } from '../artifacts/read-artifacts.ts';
import { resultErrors } from '../errors.ts';
import { issueArtifactLinks, readLinkLife } from '../links/issue-artifact-links.ts';
import { describePreview, type Preview } from '../previews/describe-previews.ts';
import { findPicture, schedulePreviews } from '../previews/make-preview.ts';
import type { ResultDeps } from '../types.ts';

/** Whether the gateway keeps a result; nothing where it does not. */
type KeptState = {
  kept?: ResultState;
  /** For a kept result: size, digest in hex, and the end of its keeping (absent: none). */
  bytes?: number;
  sha256?: string;
  kept_until?: number;
  /** Why a result is not kept yet, or is lost. */
  kept_reason?: string;
  kept_reason_sentence?: StoredSentence;
};

/** A task's result files. */
export type ArtifactList = {
  task_id: string;
  artifacts: ({
    key: string;
    type: Artifact['type'];
    mimeType?: string;
    /** Needs no key. */
    content_url: string;
    /** Unix seconds after which the link no longer works. */
    expires_at?: number;
    /** A still image of it: a frame, a smaller copy, a waveform. Its link lives as long. */
    preview?: Preview;
    /** For a sound: a preview of the picture that the vendor has of it. */
    cover?: Preview;
  } & KeptState)[];
  /**
   * Only if nothing is listed: the link to the result that the plugin gave an address of. It works
   * like a `content_url`.
   */
  legacy_content_url?: string;
  legacy_content_type?: Artifact['type'];
  legacy_content_expires_at?: number;
  legacy_content_preview?: Preview;
  legacy_content_kept?: ResultState;
  legacy_content_bytes?: number;
  legacy_content_sha256?: string;
  legacy_content_kept_until?: number;
  legacy_content_kept_reason?: string;
  legacy_content_kept_reason_sentence?: StoredSentence;
};

/**
 * Lists a task's artifacts. Their links work without an API key, until `expires_at` if present.
 * `expiresIn`: the seconds that a client asks for, as it sent them.
 * @throws tasks.artifact_*
 */
export async function describeArtifacts(
  deps: ResultDeps,
  task: TaskRecord,
  expiresIn?: string | null,
): Promise<ArtifactList> {
  const lifeSeconds = typeof expiresIn === 'string' ? readLinkLife(deps, expiresIn) : undefined;
  const known = task.status === 'SUCCESS' ? await deps.store.results.ofTasks([task.taskId]) : [];
  const results = known.filter(({ kind }) => kind !== PREVIEW_KIND);
  const { artifacts, legacy } = await listKeptOrListed(deps, task, results);
  if (artifacts.length === 0 && !legacy) return { task_id: task.taskId, artifacts: [] };
  const base = deps.links.publicAddress();
  if (!base) throw resultErrors.artifact_url_error();
  const linkTo = await issueArtifactLinks(deps, task, { base, lifeSeconds });
  const listed = legacy ? [legacy] : artifacts;
  await schedulePreviews(deps, task, { artifacts: listed, known });
  const isListed = !results.some(({ artifactKey }) => artifactKey === '');
  const findKeptState = (key: string): KeptState => {
    const result = results.find(({ artifactKey }) => artifactKey === (isListed ? key : ''));
    return result ? describeKept(result) : {};
  };
  const findPreview = (key: string): Preview | undefined => {
    const row = known.find(({ artifactKey, state }) => artifactKey === previewKey(key) && state === 'kept');
    return row && describePreview(row, linkTo);
  };
  if (legacy) {
    const { url, expiresAt } = linkTo(legacy.key);
    const preview = findPreview(legacy.key);
    return {
      task_id: task.taskId,
      artifacts: [],
      legacy_content_url: url,
      legacy_content_type: legacy.type,
      ...(expiresAt === 0 ? {} : { legacy_content_expires_at: expiresAt }),
      ...(preview && { legacy_content_preview: preview }),
      ...nameLegacy(findKeptState(legacy.key)),
    };
  }
  return {
    task_id: task.taskId,
    artifacts: artifacts.map((artifact) => {
      const { key, type, mimeType } = artifact;
      const { url, expiresAt } = linkTo(key);
      const preview = findPreview(key);
      const picture = type === 'audio' ? findPicture(artifacts, artifact) : undefined;
      const cover = picture && findPreview(picture.key);
      return {
        key,
        type,
        ...(mimeType === undefined ? {} : { mimeType }),
        content_url: url,
        ...(expiresAt === 0 ? {} : { expires_at: expiresAt }),
        ...(preview && { preview }),
        ...(cover && { cover }),
        ...findKeptState(key),
      };
    }),
  };
}

/** Facts of a result that no plugin listed stand beside the list, not in it. */
const nameLegacy = ({ kept, bytes, sha256, kept_until, kept_reason, kept_reason_sentence }: KeptState) => ({
  ...(kept && { legacy_content_kept: kept }),
  ...(bytes !== undefined && { legacy_content_bytes: bytes }),
  ...(sha256 !== undefined && { legacy_content_sha256: sha256 }),
  ...(kept_until !== undefined && { legacy_content_kept_until: kept_until }),
  ...(kept_reason !== undefined && { legacy_content_kept_reason: kept_reason }),
  ...(kept_reason_sentence && { legacy_content_kept_reason_sentence: kept_reason_sentence }),
});

/** What is kept of a task is listed even if its plugin is gone or fails. */
async function listKeptOrListed(
  deps: Pick<ResultDeps, 'pin' | 'telemetry'>,
  task: TaskRecord,
  results: readonly KeptResultRecord[],
): ReturnType<typeof listTaskArtifacts> {
  try {
    return await listTaskArtifacts(deps, task);
  } catch (error) {
    const kept = results
      .filter(({ state }) => state === 'kept')
      .map(({ artifactKey, kind }) => ({ key: artifactKey, type: kind as Artifact['type'] }));
    if (kept.length === 0) throw error;
    return { artifacts: kept, legacy: undefined };
  }
}

function describeKept({ state, sha256, bytes, keptUntil, reason, reasonSentence }: KeptResultRecord): KeptState {
  const file = sha256 === null ? {} : { bytes, sha256, ...(keptUntil === 0 ? {} : { kept_until: keptUntil }) };
  const why = {
    ...(reason === '' ? {} : { kept_reason: reason }),
    ...(reasonSentence && { kept_reason_sentence: reasonSentence }),
  };
  return { kept: state, ...file, ...why };
}
