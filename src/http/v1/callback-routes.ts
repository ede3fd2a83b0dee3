import { Elysia } from 'elysia';
import { isObject, parseJson } from '../../kernel/index.ts';
import { type Tasks, taskErrors } from '../../tasks/index.ts';
import { readBody } from '../bodies/read-body.ts';
import type { Kit } from '../pipeline/route-kit.ts';

/** Vendors send the task as they would answer a query; nobody reads more of it than a challenge. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_CHALLENGE = 1024;

/**
 * Where vendors say that a task has changed. They are not believed: the task is polled, no more.
 * A caller who does not know the address of a task gets 404, at the cost of one signature.
 */
export function callbackRoutes(kit: Kit, { tasks }: { tasks: Pick<Tasks, 'vendorCalled'> }) {
  type Call = { params: { task_id: string; token: string } };
  const note = ({ params: { task_id: taskId, token } }: Call): void => {
    if (!tasks.vendorCalled(taskId, token)) throw taskErrors.task_not_found();
  };
  // Plain text: some vendors compare the answer with this word.
  const done = () => new Response('ok', { headers: { 'content-type': 'text/plain; charset=utf-8' } });

  return new Elysia({ normalize: false, tags: ['Tasks'] })
    .use(kit)
    .get(
      '/v1/callbacks/:task_id/:token',
      (call) => {
        note(call);
        return done();
      },
      { public: true, detail: { summary: "Receive a vendor's callback for a task" } },
    )
    .post(
      '/v1/callbacks/:task_id/:token',
      async (call) => {
        note(call);
        const body = parseJson(new TextDecoder().decode(await readBody(call.request, MAX_BODY_BYTES)));
        const challenge = isObject(body) ? body.challenge : undefined;
        return typeof challenge === 'string' && challenge.length <= MAX_CHALLENGE
          ? Response.json({ challenge })
          : done();
      },
      {
        public: true,
        detail: {
          summary: "Receive a vendor's callback for a task",
          description:
            'The address is in ctx.callbackUrl of plugins, one for each task. The call is not believed: the task is polled at once. Answers ok, or the challenge of a JSON body, which MiniMax expects.',
        },
      },
    );
}
