import type { Sentence, SentenceParams, StoredSentence } from '../../kernel/index.ts';

/** Something that an administrator should look at. */
export type AttentionItem = {
  /** Stable: the panel chooses its text by this code. */
  code:
    | 'plugin_suspended'
    | 'plugin_failed'
    | 'plugin_failing'
    | 'plugin_rolled_back'
    | 'plugin_keeps_path'
    | 'credential_exposed'
    | 'plugin_revoked'
    | 'plugin_revoked_tasks'
    | 'channel_failing'
    | 'channel_degraded'
    | 'channel_key_ends'
    | 'channel_key_unreadable'
    | 'channel_key_refused'
    | 'channel_balance_empty'
    | 'channel_balance_low'
    | 'channel_resting'
    | 'polls_late'
    | 'tasks_overdue'
    | 'vendor_job_unrecorded'
    | 'queue_stalled'
    | 'webhooks_late'
    | 'model_unpriced'
    | 'price_refuses'
    | 'price_unused'
    | 'channel_unserved'
    | 'address_missing'
    | 'setting_unsafe'
    | 'setting_doubtful'
    | 'certificate_fault'
    | 'proxy_not_listed'
    | 'ledger_mismatch'
    | 'data_damaged'
    | 'node_gone'
    | 'node_versions_differ'
    | 'no_master'
    | 'disk_unwritable'
    | 'results_blocked'
    | 'results_lost'
    | 'backup_off'
    | 'backup_failed'
    | 'backup_overdue'
    | 'backup_unsealed'
    | 'backup_not_pruned'
    | 'alert_webhook_failing'
    | 'disk_low'
    | 'clock_stepped'
    | 'clock_differs'
    | 'maintenance_on'
    | 'retention_undecided';
  severity: 'error' | 'warning';
  /** Where to look: a page of the panel, and an item on it. */
  target: {
    kind: 'plugin' | 'channel' | 'price' | 'setting' | 'system' | 'node' | 'tasks' | 'queue';
    id: string | number | null;
  };
} & Sentence;

/** Backups for the owner. Times are Unix seconds. */
export type BackupsView = {
  /** Null: BACKUP_TO is not set. */
  place: string | null;
  daily: boolean;
  hour: number;
  /** False: the secrets are left out of backups, since nothing says how to seal them. */
  sealed: boolean;
  /** The latest runs, the newest first. */
  runs: {
    id: string;
    trigger: 'schedule' | 'manual';
    status: 'running' | 'done' | 'failed';
    /** The id of the backup; empty until it exists. */
    backup: string;
    place: string;
    started_at: number;
    /** 0: it runs. */
    ended_at: number;
    bytes: number;
    message: string;
    /** What `message` says; null without one, and for older runs. */
    reason: string | null;
    params: SentenceParams | null;
  }[];
};

/** The state of the gateway for administrators. Times are Unix seconds. */
export type SystemView = {
  nodes: {
    id: string;
    /** The name of its machine. */
    host: string;
    role: string;
    version: string;
    started_at: number;
    heartbeat_at: number;
    /** False: no heartbeat recently, and the node did not announce a shutdown. */
    alive: boolean;
    /** True: an operator has taken it out of service until its next start. */
    drained: boolean;
    /** True for the node that answers this request. */
    self: boolean;
  }[];
  queue: { unfinished: number; due: number; latest_lateness_ms: number };
  /** Polls of this node since its start. */
  polls: { polling: boolean; made: number; running: number; waiting: number };
  /** The sandbox processes of this node; `queued` counts calls that wait for one. */
  sandbox: {
    processes: number;
    max_processes: number;
    calls: number;
    kills: number;
    queued: number;
    suspended: string[];
    resident_bytes: number;
  };
  plugins: {
    generation: number;
    published_at: number;
    errors: Record<string, string>;
    error_sentences: Record<string, StoredSentence>;
  };
  webhooks: { pending: number; oldest_seconds: number };
  /** `free_bytes`: what a SQLite file keeps for later rows after others were removed. */
  database: { kind: 'sqlite' | 'postgres'; bytes: number; free_bytes: number; shared_cache: boolean };
  /** This node's latest check; null before the first one, which the first request starts. */
  ledger: {
    checked_at: number;
    ok: boolean;
    users: { user_id: number; quota: number; ledger: number }[];
    tasks: { task_id: string; quota: number; ledger: number }[];
  } | null;
  /** Keyed by environment variable. */
  limits: Record<string, number>;
};

/** The state over time. Null: nothing was noted, because no node ran. */
export type SystemHistory = {
  /** What a point stands for. */
  step_seconds: number;
  /** A lateness from here on needs attention. */
  late_ms: number;
  points: {
    at: number;
    /** The sum over all nodes. */
    polls: number | null;
    /** The longest that a node's event loop was held. */
    lag_ms: number | null;
    unfinished: number | null;
    due: number | null;
    lateness_ms: number | null;
    database_bytes: number | null;
  }[];
  /** Runs that have ended, the oldest first. */
  backups: { at: number; seconds: number; done: boolean; bytes: number }[];
};
