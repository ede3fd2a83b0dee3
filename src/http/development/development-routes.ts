import { Elysia, t } from 'elysia';
import type { BillExplanation } from '../../billing/index.ts';
import type { Json } from '../../kernel/index.ts';
import { answersJson, answersMedia } from '../openapi/describe-answer.ts';
import { type Kit, strictObject } from '../pipeline/route-kit.ts';
import { renderDevelopmentPage } from './development-page.ts';

/** A call of a hook as its author sees it: without credentials, long texts shortened. */
export type DevelopedCall = {
  /** Counts from 1. */
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  hook: string;
  ms: number;
  /** The task that the call was made for; null before there is one. */
  task: string | null;
  request: Json[];
  answer: { value: Json } | { error: string; kind: string };
  console: string[];
};

export type DevelopmentView = {
  plugin: { key: string; version: string };
  /** The calls after the one that was asked for, the oldest first. */
  calls: DevelopedCall[];
  /** The number of the latest call; 0 before the first. */
  latest: number;
  /** The tasks of the calls that are kept, the newest first. */
  tasks: { id: string; status: string; bill: BillExplanation }[];
  /** The cases of the plugin's fixture that no longer fit, and commands that help. */
  misfits: { fixture: string; cases: string[]; commands: string[] } | null;
};

/** Without `after` it answers at once, else when there are later calls or after some seconds. */
export type ViewDevelopment = (after: number | undefined) => Promise<DevelopmentView>;

/**
 * The page on which an author watches the hook calls of the plugin under development. Only
 * `plugin dev` has these routes.
 */
export function developmentRoutes(kit: Kit, view: ViewDevelopment) {
  let page: ReturnType<typeof renderDevelopmentPage> | undefined;
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get(
      '/api/dev',
      () => {
        page ??= renderDevelopmentPage();
        return new Response(page.html, {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': page.contentSecurityPolicy,
          },
        });
      },
      {
        public: true,
        detail: { summary: 'The page of the plugin under development', ...answersMedia('The page', 'text/html') },
      },
    )
    .get('/api/dev/calls', async ({ query }) => Response.json(await view(query.after)), {
      apiKey: true,
      query: strictObject({ after: t.Optional(t.Integer({ minimum: 0 })) }),
      detail: { summary: 'The hook calls of the plugin under development', ...answersJson('Calls and bills') },
    });
}
