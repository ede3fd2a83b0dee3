import { Elysia, t } from 'elysia';
import { STATUS } from '../../../auth/index.ts';
import {
  type CapacityService,
  type Channels,
  channelErrors,
  type RestEvent,
  type VendorAccount,
} from '../../../channels/index.ts';
import type { ChannelHistory, Reports } from '../../../reports/index.ts';
import type { ChannelTrial, TryChannel } from '../../../vendors/index.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { describeReported } from './channel-credentials.ts';

const PERIODS = { '24': 24, '168': 168 } as const;
const MAX_RESTS = 100;

/** How a channel did over the last day or week. */
export function channelHistoryRoutes(
  kit: Kit,
  deps: {
    channels: Pick<Channels, 'get'>;
    reports: Pick<Reports, 'channelHistory'>;
    capacity: Pick<CapacityService, 'restEvents'>;
  },
) {
  return new Elysia({ normalize: false, tags: ['Channels'] }).use(kit).get(
    '/api/channel/:id/history',
    async ({ params, query }) => {
      const channel = await deps.channels.get(readId(params.id));
      const [history, rests] = await Promise.all([
        deps.reports.channelHistory(channel.id, PERIODS[query.hours ?? '24']),
        deps.capacity.restEvents(channel, MAX_RESTS),
      ]);
      return ok({ ...describeHistory(history), rests: rests.map(describeRestEvent) });
    },
    {
      admin: true,
      query: strictObject({
        hours: t.Optional(t.Union([t.Literal('24'), t.Literal('168')], { description: 'The last hours.' })),
      }),
      detail: {
        summary: "Get a channel's hourly successes, failures, durations and failure reasons",
        description:
          "points: one an hour by its first second, the running hour included. p50_seconds and p95_seconds are from the request to success, accurate to a histogram bucket, null if unknown. failures: the reasons of the latest 1,000 failures, the most frequent first, at most 20; has_more_failures: there were more. rests: of all time, the newest 100, the newest first, and of one reason 50 at most; credential_id 0: all keys; model: the vendor's, empty for all; what: rested, tried (a trial was refused, and it rests on), back, or resumed by hand; until: 0 where nothing rests any longer.",
      },
    },
  );
}

function describeHistory({ points, totals, failures, hasMoreFailures }: ChannelHistory) {
  return {
    totals: describe(totals),
    points: points.map((point) => ({ at: point.at, ...describe(point) })),
    failures: failures.map(({ reason, reasonSentence, tasks, lastAt, lastTask }) => ({
      reason,
      reason_sentence: reasonSentence,
      tasks,
      last_at: lastAt,
      last_task: lastTask,
    })),
    has_more_failures: hasMoreFailures,
  };
}

const describeRestEvent = ({ id, at, what, reason, until, credentialId, model }: RestEvent) => ({
  ...{ id, at, what, reason, until, model },
  credential_id: credentialId,
});

const describe = ({ succeeded, failed, p50Seconds, p95Seconds }: ChannelHistory['totals']) => ({
  succeeded,
  failed,
  success_rate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
  p50_seconds: p50Seconds ?? null,
  p95_seconds: p95Seconds ?? null,
});

/** An administrator waits for the answer, so at most this many keys are tested. */
const MAX_TRIED = 50;

/** Whether the vendor of a channel answers, and accepts its keys. */
export function channelTestRoutes(
  kit: Kit,
  deps: {
    channels: Channels;
    tryChannel: TryChannel;
    /** Reads what the vendor reports about each key; returns of how many. */
    readAccounts: (channelId: number, signal: AbortSignal) => Promise<number>;
    audit: RecordAudit;
  },
) {
  const { channels, tryChannel, readAccounts, audit } = deps;

  function findAccounts(channel: { id: number }, named: string | undefined): readonly VendorAccount[] {
    const all = channels.accounts(channel);
    const enabled = all.filter(({ credential }) => credential.status === STATUS.enabled);
    const wanted = named === undefined ? undefined : readId(named);
    const found = wanted === undefined ? enabled : all.filter(({ credential }) => credential.id === wanted);
    const chosen = found.length === 0 && wanted === undefined ? all.slice(0, 1) : found.slice(0, MAX_TRIED);
    if (chosen.length === 0) throw channelErrors.credential_not_found();
    return chosen;
  }

  return new Elysia({ normalize: false, tags: ['Channels'] })
    .use(kit)
    .post(
      '/api/channel/:id/test',
      async ({ params, query, panel, origin, request }) => {
        const channel = await channels.get(readId(params.id));
        const accounts = findAccounts(channel, query.credential);
        const { trials, outcome } = await tryChannel(accounts, panel.user.id, request.signal);
        const target = `channel:${channel.id}`;
        await audit({ panel, origin }, { action: 'channel.test', target, detail: { ok: outcome.ok } });
        return ok({ ...outcome, credentials: trials.map(describeTrial) });
      },
      {
        admin: true,
        critical: true,
        query: strictObject({
          credential: t.Optional(t.String({ maxLength: 20, description: 'The id of the only credential to try.' })),
        }),
        detail: {
          summary: 'Test a channel step by step, free of charge',
          description:
            'Asks the vendor for a job that does not exist (a relay: for its models), with each enabled key, the first 50 at most, or with the one that is named. credentials has the outcome of each; beside it stands that of the first that failed, else of the first. steps: key, plugin, address, proxy (if there is one), connection, tls, answer, credential, up to the first failure; ok is null if a step could not be decided. Nothing is submitted.',
        },
      },
    )
    .post(
      '/api/channel/:id/balance',
      async ({ params, request }) => {
        const { id } = await channels.get(readId(params.id));
        const keys = await readAccounts(id, request.signal);
        const read = await channels.credentials.list(id);
        return ok({ keys, credentials: read.map((each) => ({ id: each.id, ...describeReported(each) })) });
      },
      {
        admin: true,
        critical: true,
        detail: {
          summary: "Ask the vendor for the account's balance and limits",
          description:
            'Asks with each enabled key, as the gateway does each hour, by the balance_script of the channel and the hooks of its plugin. keys: how many were asked; 0 where neither says how. balance.usd is the last amount, which stays where a later try fails (fault); read_at is 0 where none was made. told_limits: what the vendor lets the account run, which holds beside the limits of the channel; null: it does not tell.',
        },
      },
    );
}

const describeTrial = ({ account: { credential }, ...trial }: ChannelTrial & { account: VendorAccount }) => ({
  id: credential.id,
  label: credential.label,
  key_hint: credential.keyHint,
  ...trial,
});
