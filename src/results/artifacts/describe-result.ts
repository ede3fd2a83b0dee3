import { userOwner } from '../../kernel/index.ts';
import {
  buildBatchQueryRequest,
  buildQueryRequest,
  type ContentRequest as DescribedContent,
  parseBatchResult,
  parseTaskResult,
  readContentRequest,
} from '../../plugins/index.ts';
import {
  batchContext,
  locateContent,
  queryContext,
  responseInfo,
  restoreMedia,
  vendorErrors,
} from '../../vendors/index.ts';
import { resultErrors } from '../errors.ts';
import type { ResultDeps } from '../types.ts';
import type { ArtifactSource } from './read-artifacts.ts';
import { artifactHookError } from './read-artifacts.ts';

type ResultSource = Omit<ArtifactSource, 'artifactKey'>;

/**
 * How to get the result of a task whose plugin lists no artifacts: its address, which is asked
 * without a credential.
 * @throws tasks.artifact_*
 */
export async function describeResult(deps: ResultDeps, source: ResultSource): Promise<DescribedContent> {
  const { plugin, channel, task, client } = source;
  const { result } = task.execution;
  if (!result) throw resultErrors.artifact_not_found();
  const url = 'url' in result ? result.url : await askForResult(deps, source);
  const rules = { manifest: plugin.manifest, baseUrl: channel.baseUrl, method: client.method };
  const described = readContentRequest({ url, credentialless: true }, rules);
  if (described.ok) return described.value;
  throw vendorErrors.artifact_request_rejected({ cause: new Error(described.error.message) });
}

/** Queries the task once more, for a result that was too large to be stored. */
async function askForResult(deps: ResultDeps, source: ResultSource): Promise<string> {
  const { plugin, channel, credential, task, client } = source;
  const options = { owner: userOwner(task.userId), secrets: credential.secrets };
  const own = queryContext(task, { plugin, channel, credential });
  const batch = batchContext({ plugin, channel, credential }, [own]);
  const isBatch = plugin.manifest.fetchMode === 'batch';
  const built = isBatch
    ? await buildBatchQueryRequest(plugin, batch, options)
    : await buildQueryRequest(plugin, own, options);
  if (!built.ok) throw artifactHookError(built.error);
  const { signal } = client;
  const answer = await locateContent(deps.vendors, { plugin, channel, credential, described: built.value, signal });
  const { body, uncut } = answer;
  const response = responseInfo(answer);
  const parsed = isBatch
    ? await parseBatchResult(plugin, { ctx: batch, body, response }, options)
    : await parseTaskResult(plugin, { ctx: own, body, response }, options);
  if (!parsed.ok) throw artifactHookError(parsed.error);
  const result = parsed.value instanceof Map ? parsed.value.get(own.taskId) : parsed.value;
  const url = result?.url ?? result?.remoteUrl;
  if (url === undefined) throw vendorErrors.artifact_gone();
  return uncut ? restoreMedia(url, uncut) : url;
}
