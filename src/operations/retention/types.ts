/** How long old rows are kept, in days; 0: without end. */
export type RetentionSettings = {
  /** While false, nothing is removed but notices, and what deleted accounts have left. */
  enabled: boolean;
  promptDays: number;
  requestDays: number;
  answerDays: number;
  taskDays: number;
  eventDays: number;
  usageDays: number;
  ledgerDays: number;
  webhookDays: number;
};

/**
 * One kind of old rows. `run` goes through about `limit` rows; `walked` 0 means that there are no
 * more for now.
 */
export type RetentionStep = {
  /** Names the rows in the log. */
  step: string;
  run(limit: number): Promise<{ walked: number; changed: number }>;
};
