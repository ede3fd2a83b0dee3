import type { ApiPrincipal, RequestOrigin } from '../../auth/index.ts';
import type { ClientRequest, QueuePosition, SubmittedTask } from '../../tasks/index.ts';
import { requestedModel } from '../../tasks/index.ts';
import { readRelayableRequest } from '../bodies/read-client-request.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { forwardIfRelayed } from './relay-requests.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';
import { answerSubmitted, readWait, withQueuePosition } from './wait-for-change.ts';

export type CreationScope = {
  request: Request;
  api: ApiPrincipal;
  origin: Pick<RequestOrigin, 'decidingIp'>;
  requestId: string;
  keepOpen: () => () => void;
  set: { headers: Record<string, unknown> };
};

type Submitted = Omit<SubmittedTask, 'replayed'>;

/** How a surface reads the request for a video, and describes its task. */
type VideoCreation<T> = {
  read?: (client: ClientRequest) => ClientRequest;
  describe: (task: Submitted) => Promise<T>;
  relayed?: (answer: Response) => Promise<Response>;
};

/** Submits a video to the plugin or the relay channel that serves its model. */
export async function createVideo<T extends object>(
  deps: V1Deps,
  { request, api, origin, requestId, keepOpen, set }: CreationScope,
  { read = (client) => client, describe, relayed = async (answer) => answer }: VideoCreation<T>,
): Promise<(T & { queue?: QueuePosition }) | Response> {
  const { relay, surfaces } = deps;
  const seconds = readWait(request);
  const { client: sent, assertForPlugin } = await readRelayableRequest(request, fileStorage(deps, api));
  try {
    const client = read(sent);
    deps.assertKeyAllows({ key: api.key, model: requestedModel(client), ip: origin.decidingIp });
    keepOpen();
    const passedOn = await forwardIfRelayed(relay, { kind: 'video', request, api, requestId, client });
    if (passedOn) return await relayed(passedOn);
    assertForPlugin();
    const submitted = await surfaces.submitVideo(toCaller(api), requestId, client);
    if (submitted.replayed) set.headers[REPLAYED] = 'true';
    const toAnswer = async (task: Submitted) => withQueuePosition(deps, task, { object: await describe(task), set });
    return await answerSubmitted(deps, { request, api, set }, { submitted, seconds, toAnswer });
  } finally {
    await sent.release();
  }
}
