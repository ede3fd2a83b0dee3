import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Channels } from '../../../channels/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { readInteger } from '../../pipeline/paging.ts';
import { integerText, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';

/** Names that one search returns. */
const MAX_NAMES = 20;

const id = (description: string) => t.Optional(integerText({ minimum: 1, description }));
const search = {
  keyword: t.Optional(t.String({ maxLength: 200, description: 'A part of the name, or an id.' })),
  id: id('Only this one.'),
};

/** An empty text is not a filter: forms send empty fields. @throws http.validation_failed */
function readSearch(query: { keyword?: string; id?: string }): { keyword?: string; id?: number } {
  const keyword = query.keyword?.trim() ?? '';
  return { ...(keyword === '' ? {} : { keyword }), ...(query.id ? { id: readId('id', query.id) } : {}) };
}

const readId = (field: string, text: string): number =>
  readInteger(field, text, { min: 1, max: Number.MAX_SAFE_INTEGER });

/** Ids and names for filters and the search; keys also say who used them last. */
export function nameSearchRoutes(kit: Kit, { auth, channels }: { auth: Auth; channels: Pick<Channels, 'known'> }) {
  return new Elysia({ normalize: false })
    .use(kit)
    .get('/api/user/names', async ({ query }) => ok(await auth.administration.names(readSearch(query))), {
      admin: true,
      query: strictObject(search),
      detail: {
        tags: ['Users'],
        summary: 'Search accounts by ID or name',
        description: `At most ${MAX_NAMES}. keyword is also looked for in display names and email addresses.`,
      },
    })
    .get(
      '/api/token/names',
      async ({ panel, query }) => {
        const { scope, user_id: userId } = query;
        if ((scope === 'all' || userId) && !isAdmin(panel)) throw httpErrors.insufficient_privilege();
        const found = await auth.apiKeys.names(panel, {
          ...readSearch(query),
          all: scope === 'all',
          ...(userId ? { userId: readId('user_id', userId) } : {}),
        });
        return ok(
          found.map((key) => ({
            ...{ id: key.id, name: key.name, user_id: key.userId, username: key.username },
            ...{ last_used_at: key.lastUsedAt, last_used_ip: key.lastUsedIp },
          })),
        );
      },
      {
        user: true,
        query: strictObject({
          ...search,
          scope: t.Optional(t.Union([t.Literal('own'), t.Literal('all')], { description: 'all: administrators.' })),
          user_id: id('Administrators: only the keys of this account.'),
        }),
        detail: {
          tags: ['API keys'],
          summary: 'Search API keys by ID or name',
          description: `At most ${MAX_NAMES}: your own first, then the newest. Among the keys of all, keyword is also looked for in the names of their owners. A keyword that begins with sk- finds the key that begins so. last_used_at (to the minute) and last_used_ip: its latest request; 0 and empty where nobody knows.`,
        },
      },
    )
    .get('/api/channel/names', ({ query }) => ok(findChannels(channels.known(), readSearch(query))), {
      admin: true,
      query: strictObject(search),
      detail: { tags: ['Channels'], summary: 'Search channels by ID or name', description: `At most ${MAX_NAMES}.` },
    });
}

/** Channels are in memory, so nothing is read. */
function findChannels(
  known: readonly { id: number; name: string }[],
  { keyword, id: only }: { keyword?: string; id?: number },
): { id: number; name: string }[] {
  const text = keyword?.toLowerCase() ?? '';
  return known
    .filter(
      ({ id: each, name }) =>
        (only === undefined || each === only) && (name.toLowerCase().includes(text) || String(each) === text),
    )
    .slice(0, MAX_NAMES)
    .map(({ id: each, name }) => ({ id: each, name }));
}
