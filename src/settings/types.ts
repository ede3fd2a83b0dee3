import type { Result, Sentence } from '../kernel/index.ts';
import type { OptionProof, OptionTrial } from './catalogue/option-rule.ts';

export type OptionView = {
  key: string;
  /** Always text. For a secret it is `***` if one is set, otherwise empty. */
  value: string;
  type: 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';
  default: string;
  group: string;
  /** The allowed values of a `choice`. */
  choices?: readonly string[];
  /** The range of an `integer`. */
  min?: number;
  max?: number;
  /** `max_length` counts characters, `max_items` entries of a `list`. */
  max_length?: number;
  max_items?: number;
  /** A text of several lines. */
  multiline?: true;
  /** The scope of the Security Proof that a change needs. */
  proof: OptionProof;
  /** The trial of the option's group in POST /api/option/test; absent if there is none. */
  trial?: OptionTrial;
  /** A change takes effect at once, on every node; no option needs a restart. */
  live: true;
  secret?: true;
  /** A secret that no `CRYPTO_SECRET` decrypts: it must be entered again. */
  unreadable?: true;
};

/** One changed option, for the audit log; for a secret only whether it is set. */
export type OptionChanged = { key: string; before: string; after: string };
/** `index` counts the changes of the request. `needs_force`: the change passes with `force`. */
/** Without a reason it is said to programs alone. */
export type OptionFault = Pick<Sentence, 'message'> &
  Partial<Sentence> & {
    index: number;
    field: 'key' | 'value';
    rule?: 'needs_force';
  };

/** Reads and changes options. A change is in effect on this node once it resolves. */
export type SettingsService = {
  list(): Promise<OptionView[]>;
  /** The strictest proof that any of these options needs. */
  proofFor(keys: readonly string[]): OptionProof;
  /**
   * Makes all of the changes or none. `views` are the named options, `changed` those whose value
   * changed. `force`: keeps the identities bound at a provider although its address changes.
   */
  change(
    changes: readonly { key: string; value: string }[],
    options?: { force?: boolean | undefined },
  ): Promise<Result<{ views: OptionView[]; changed: OptionChanged[] }, OptionFault[]>>;
  /**
   * Changes an option by its present value, which nobody else changes while it runs. Without a new
   * value, or with the present one, nothing changes, and there is no result. The error is a
   * sentence.
   */
  revise(
    key: string,
    revise: (value: string) => string | undefined,
  ): Promise<Result<OptionChanged | undefined, Sentence>>;
};

/** The steps of a trial; each message is a sentence without any secret. */
export type TrialResult = { ok: boolean; steps: (Sentence & { name: string; ok: boolean })[] };
/**
 * Tries what the options describe. Never rejects for what the other server does. `to` and
 * `language` belong to a test email.
 */
type RunTrial = (input: { to: string | undefined; language: string }) => Promise<TrialResult>;

export type OptionTrials = Record<OptionTrial, RunTrial>;

/**
 * What anybody may know of the options. A sign-in method is true while it is on and nothing that it
 * needs is missing; otherwise its ids and names are empty.
 */
export type PublicSettings = {
  system_name: string;
  server_address: string;
  /** The path of the operator's logo; empty: there is none. */
  logo: string;
  /** A colour such as `#0b784d`; empty: the built-in one. */
  accent: string;
  /** Markdown for everybody; empty: none. */
  notice: string;
  /** Who fills an empty balance; empty: nothing is said. */
  balance_hint: string;
  email_verification: boolean;
  register_enabled: boolean;
  /** Quota that a new user begins with, and what an invitation adds for either side. */
  new_user_credit: number;
  inviter_credit: number;
  invitee_credit: number;
  password_login_enabled: boolean;
  password_register_enabled: boolean;
  /** A forgotten password can be reset by a mailed link. */
  password_reset: boolean;
  turnstile_check: boolean;
  turnstile_site_key: string;
  github_oauth: boolean;
  github_client_id: string;
  discord_oauth: boolean;
  discord_client_id: string;
  linuxdo_oauth: boolean;
  linuxdo_client_id: string;
  linuxdo_minimum_trust_level: number;
  oidc_enabled: boolean;
  oidc_client_id: string;
  oidc_authorization_endpoint: string;
  oidc_display_name: string;
  telegram_oauth: boolean;
  telegram_bot_name: string;
  wechat_login: boolean;
  wechat_qrcode: string;
  passkey_login: boolean;
  passkey_display_name: string;
  passkey_rp_id: string;
  passkey_origins: string;
  passkey_allow_insecure: boolean;
  passkey_user_verification: 'required' | 'preferred' | 'discouraged';
  passkey_attachment: '' | 'platform' | 'cross-platform';
  user_agreement_enabled: boolean;
  privacy_policy_enabled: boolean;
};
