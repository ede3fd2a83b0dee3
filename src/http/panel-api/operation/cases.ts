import { Elysia, t } from 'elysia';
import { addressKey, type PanelPrincipal } from '../../../auth/index.ts';
import { type CaseFile, caseErrors, type Reports } from '../../../reports/index.ts';
import type { Results } from '../../../results/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';
import { integerSchema, type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

const DEFAULT_DAYS = 7;
const MAX_DAYS = 30;

const kind = t.Union([t.Literal('task'), t.Literal('user'), t.Literal('channel')]);
const id = t.String({ minLength: 1, maxLength: 191 });
const audience = t.Union([t.Literal('user'), t.Literal('operator')], {
  description: 'user: what the owner may know. operator, for administrators: also channel, key and ids at the vendor.',
});

/** Case files: what explains a task, an account or a channel, and links that share it. */
export function caseRoutes(
  kit: Kit,
  { reports, results, audit }: { reports: Pick<Reports, 'caseFile'>; results: Results; audit: RecordAudit },
) {
  const read = async (panel: PanelPrincipal, question: Omit<Parameters<Reports['caseFile']>[0], 'reader'>) =>
    reports.caseFile({ ...question, reader: panel.user });

  return new Elysia({ normalize: false, tags: ['Records'] })
    .use(kit)
    .get(
      '/api/case/:kind/:id',
      async ({ panel, params, query }) => {
        const found = query.audience ?? (isAdmin(panel) ? 'operator' : 'user');
        return ok(describeCase(await read(panel, { ...params, audience: found })));
      },
      {
        user: true,
        params: t.Object({ kind, id }),
        query: strictObject({ audience: t.Optional(audience) }),
        detail: {
          summary: 'Explain a task, an account or a channel',
          description:
            'Users: their own tasks. Administrators: every task and channel, and the accounts that they may see. answer: sentences that can be sent as they stand. It has no prompts, keys, addresses or answers of vendors. audit: for root.',
        },
      },
    )
    .post(
      '/api/case/:kind/:id/link',
      async ({ panel, origin, params, body }) => {
        const { days = DEFAULT_DAYS } = body;
        const shared = { ...params, audience: body.audience ?? ('user' as const) };
        await read(panel, { ...shared, isShared: true });
        const { access, expiresAt } = await results.caseLinks.issue(shared, { id: panel.user.id, days });
        const detail = { audience: shared.audience, days };
        await audit({ panel, origin }, { action: 'case.share', target: `${params.kind}:${params.id}`, detail });
        return ok({ access, expires_at: expiresAt });
      },
      {
        user: true,
        params: t.Object({ kind, id }),
        body: strictObject({
          audience: t.Optional(audience),
          days: t.Optional(integerSchema({ minimum: 1, maximum: MAX_DAYS, default: DEFAULT_DAYS })),
        }),
        detail: {
          summary: 'Share a case file by a signed link',
          description:
            'Anyone who has it can read the case file without signing in, until it expires. It also ends with the rights of the person who shared it, when they revoke their links, and when the owner of a task deletes it or their account.',
        },
      },
    )
    .post(
      '/api/case/shared',
      async ({ body, origin }) => {
        const link = { ...body, address: addressKey(origin.decidingIp) };
        const opened = await results.caseLinks.open(link);
        if (!opened) throw caseErrors.case_not_found();
        const { issuer: reader, audience: shared, expiresAt } = opened;
        const found = await reports.caseFile({
          kind: body.kind,
          id: body.id,
          audience: shared,
          reader,
          isShared: true,
        });
        return ok({ ...describeCase(found), expires_at: expiresAt });
      },
      {
        public: true,
        body: strictObject({ kind, id, access: t.String({ minLength: 1, maxLength: 200 }) }),
        detail: {
          summary: 'Open a shared case file',
          description: 'access is sent in the body, so that no log of addresses holds it.',
        },
      },
    );
}

const describeCase = (found: CaseFile) => ({
  kind: found.kind,
  id: found.id,
  title: found.title,
  audience: found.audience,
  made_at: found.madeAt,
  language: found.language,
  answer: found.answer,
  facts: found.facts,
  said: found.said && { text: found.said.text, sentence: found.said.sentence, http_status: found.said.httpStatus },
  money: found.money,
  timeline: found.timeline.map(({ at, kind: what, status, class: of, httpStatus, detail, detailSentence }) => ({
    ...{ at, kind: what, status, class: of, http_status: httpStatus, detail, detail_sentence: detailSentence },
  })),
  failures: found.failures,
  ledger: found.ledger.map(({ kind: of, amount, reserved, note, noteSentence, taskId, createdAt, model }) => ({
    ...{ kind: of, amount, reserved, note, note_sentence: noteSentence, task_id: taskId, created_at: createdAt, model },
  })),
  audit: found.audit,
});
