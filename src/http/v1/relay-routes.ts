import { Elysia } from 'elysia';
import type { Kit } from '../pipeline/route-kit.ts';
import { forwardRelayed } from './relay-requests.ts';
import type { V1Deps } from './types.ts';

/**
 * Operations of OpenAI's API that plugins' tasks do not support. They work only on objects that the
 * vendor of a relay channel created.
 */
export function relayRoutes(kit: Kit, { tasks }: V1Deps) {
  return new Elysia({ normalize: false })
    .use(kit)
    .post(
      '/v1/responses/:response_id/cancel',
      (scope) => forwardRelayed(tasks, scope, { kind: 'response', id: scope.params.response_id, operation: 'cancel' }),
      { apiKey: true, detail: { tags: ['Responses'], summary: 'Cancel a response of a relay channel’s vendor' } },
    )
    .delete(
      '/v1/responses/:response_id',
      (scope) => forwardRelayed(tasks, scope, { kind: 'response', id: scope.params.response_id, operation: 'delete' }),
      { apiKey: true, detail: { tags: ['Responses'], summary: 'Delete a response at a relay channel’s vendor' } },
    );
}
