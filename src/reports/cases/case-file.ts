import { QUOTA_PER_USD, type Sentence, type StoredSentence } from '../../kernel/index.ts';
import type { LedgerEntryRecord, TaskEventRecord } from '../../store/ports/index.ts';

export type CaseKind = 'task' | 'user' | 'channel';
/** `user`: what the owner may know. `operator`: also channel, key, vendor's ids and audit rows. */
export type CaseAudience = 'user' | 'operator';

/**
 * `time`: Unix seconds. `quota`: money. `state`: a status that people read in their language. `id`
 * is that of the user, channel or plugin that the text names.
 */
export type CaseFact = { name: string } & (
  | { as: 'text' | 'state'; value: string; id?: number | string }
  | { as: 'time' | 'seconds' | 'quota' | 'number'; value: number }
);

/**
 * An account's file has one line for each task: what it changed in all, what it reserved, and its
 * model.
 */
export type CaseLine = Pick<LedgerEntryRecord, 'amount' | 'note' | 'noteSentence' | 'taskId' | 'createdAt'> & {
  kind: LedgerEntryRecord['kind'] | 'task_charged' | 'task_refunded' | 'task_reserved';
  reserved?: number;
  model?: string;
};

/**
 * All that explains a task, an account or a channel, without secrets, prompts, addresses and
 * answers of vendors. It is read again each time.
 */
export type CaseFile = {
  kind: CaseKind;
  id: string;
  /** What people call it: its model, username or name. */
  title: string;
  audience: CaseAudience;
  madeAt: number;
  /** The language of the user whom it concerns; empty: nobody in particular, or unknown. */
  language: string;
  /** What can be sent as it stands: sentences, in order. */
  answer: Sentence[];
  facts: CaseFact[];
  /** Why it failed last, as the vendor or the gateway said it. */
  said: { text: string; sentence: StoredSentence | null; httpStatus: number } | null;
  /** Quota. `charged` is null until a task has ended. */
  money: { reserved: number; charged: number | null; refunded: number } | null;
  timeline: Omit<TaskEventRecord, 'id' | 'taskId'>[];
  failures: { reason: string; sentence: StoredSentence | null; tasks: number }[];
  ledger: CaseLine[];
  /** For root: who changed it, without addresses. */
  audit: { at: number; username: string; action: string }[];
};

export type CaseContent = Omit<CaseFile, 'kind' | 'id' | 'audience' | 'madeAt' | 'audit'>;

/** A fact that may be missing: then it is left out. */
export function listFacts(...facts: (CaseFact | false)[]): CaseFact[] {
  return facts.filter((fact): fact is CaseFact => fact !== false && fact.value !== '');
}

/** Quota as USD, the way sentences name amounts. */
export const toUsd = (quota: number): number => {
  const usd = quota / QUOTA_PER_USD;
  return Number(usd !== 0 && Math.abs(usd) < 0.1 ? usd.toPrecision(3) : usd.toFixed(2));
};
