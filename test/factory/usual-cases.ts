import { type Answer, type Expected, mark, type Outcome, REFUSED_KEY, type Scenario } from './vendor.ts';

/**
 * What the cases that every vendor must stand differ in. `name` is the scenario's; ids and texts
 * carry `mark(name)`.
 */
export type Recipe = {
  /** The body of `POST /v1/tasks/<key>`. */
  client: (name: string) => Record<string, unknown>;
  submit: (name: string) => Expected;
  accepted: (name: string) => unknown;
  poll: (name: string) => Expected;
  running: (name: string) => unknown;
  done: (name: string) => unknown;
  failed: { json: (name: string) => unknown; reason: string };
  /** A valid answer with a status that its description does not know. */
  unknown: (name: string) => unknown;
  /** A 200 that is an error, and what the client reads of it: 400 if nothing else is said. */
  complaint: { json: unknown } & Refused;
  /** For an answer that holds no job. */
  noJob: { json: unknown; message: string };
  /** How the vendor answers a wrong key. */
  unauthorized: Answer;
  /** Accounts that are asked then. Absent: all of them. */
  keyAttempts?: number;
  content: (name: string) => NonNullable<Scenario['content']>;
  artifacts: (name: string) => NonNullable<Outcome['artifacts']>;
  bill: number;
};

type Refused = { message: string; status?: number };

const BUSY: Answer = { status: 429, headers: { 'retry-after': '1' }, json: { message: 'too many requests' } };

/** Success, failure, a busy vendor, unknown statuses, odd answers and a wrong key. */
export function usualCases(recipe: Recipe): Scenario[] {
  const { client, submit, poll, content } = recipe;
  const json = (value: unknown): Answer => ({ json: value });
  const play = (
    name: string,
    { submits, polls, outcome }: { submits: Answer[]; polls: Answer[]; outcome: Outcome },
  ): Scenario => ({
    name,
    client: { via: 'generic', json: client(name) },
    submit: { expect: submit(name), answers: submits },
    poll: { expect: poll(name), answers: polls },
    content: content(name),
    outcome,
  });
  const succeeded = (name: string, more: Outcome = {}): Outcome => ({
    artifacts: recipe.artifacts(name),
    bill: recipe.bill,
    ...more,
  });
  const succeedsAfter = (name: string, polls: Answer[]): Scenario =>
    play(name, {
      submits: [json(recipe.accepted(name))],
      polls: [...polls, json(recipe.done(name))],
      outcome: succeeded(name),
    });
  const refused = (name: string, answer: Answer, { message, status = 400 }: Refused): Scenario =>
    play(name, { submits: [answer], polls: [], outcome: { refused: { status, message } } });
  return [
    succeedsAfter('success', [json(recipe.running('success'))]),
    play('failure', {
      submits: [json(recipe.accepted('failure'))],
      polls: [json(recipe.failed.json('failure'))],
      outcome: {
        status: 'FAILURE',
        reason: recipe.failed.reason,
      },
    }),
    play('busy-at-submission', {
      submits: [BUSY, json(recipe.accepted('busy-at-submission'))],
      polls: [json(recipe.done('busy-at-submission'))],
      outcome: succeeded('busy-at-submission', { attempts: 2 }),
    }),
    succeedsAfter('busy-at-poll', [BUSY]),
    succeedsAfter('unknown-status', [json(recipe.unknown('unknown-status'))]),
    succeedsAfter('odd-polls', [json(recipe.complaint.json), { text: '<html>' }, { status: 204 }, json([])]),
    play('lost', {
      submits: [json(recipe.accepted('lost'))],
      polls: [{ status: 404, text: 'gone' }],
      outcome: {
        status: 'FAILURE',
        reason: 'upstream task not found (HTTP 404)',
      },
    }),
    refused('complaint', json(recipe.complaint.json), recipe.complaint),
    refused('no-job', json(recipe.noJob.json), recipe.noJob),
    refused('html', { text: '<html>' }, recipe.noJob),
    refused('empty', {}, recipe.noJob),
    play('bad-key', {
      submits: [recipe.unauthorized],
      polls: [],
      outcome: {
        refused: { status: 502, message: REFUSED_KEY },
        jobs: 0,
        ...(recipe.keyAttempts === undefined ? {} : { attempts: recipe.keyAttempts }),
      },
    }),
    play('rejected', {
      submits: [{ status: 400, json: { message: `no ${mark('rejected')} here` } }],
      polls: [],
      outcome: {
        refused: { status: 400, message: `The vendor responded with HTTP 400: "no ${mark('rejected')} here"` },
        jobs: 0,
      },
    }),
  ];
}
