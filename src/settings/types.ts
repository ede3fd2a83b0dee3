import type { Result } from '../kernel/index.ts';

/** What `POST /api/option/test` can try. */
export type OptionTrial = 'smtp' | 'oidc' | 'turnstile' | 'wechat' | 'telegram';

export type OptionView = {
  key: string;
  /** Always a text. Of a secret `***` when one is set, else empty. */
  value: string;
  type: 'text' | 'url' | 'choice' | 'boolean' | 'integer' | 'list' | 'json' | 'secret';
  default: string;
  group: string;
  /** The values of a `choice`. */
  choices?: readonly string[];
  /** Of an `integer`. */
  min?: number;
  max?: number;
  /** Characters; entries of a `list`. */
  max_length?: number;
  max_items?: number;
  /** A text of several lines. */
  multiline?: true;
  /** The scope of the Security Proof that a change takes. */
  proof: OptionProof;
  /** What POST /api/option/test calls the trial of its group; left out where there is none. */
  trial?: OptionTrial;
  /** A change counts at once, on every node; no option needs a restart. */
  live: true;
  secret?: true;
  /** A secret that no `CRYPTO_SECRET` opens: it must be entered again. */
  unreadable?: true;
};

/** What a change did to one option; of a secret only whether it is set. */
export type OptionChanged = { key: string; before: string; after: string };
/** `index` is that of the change in the request; `needs_force`: `force` lets the change through. */
export type OptionFault = { index: number; field: 'key' | 'value'; message: string; rule?: 'needs_force' };

/** `settings.security`: the option decides who gets in, or where a secret or a link goes. */
export type OptionProof = 'settings.security' | 'none';

/** The options and their rules. A change counts on every node, here when it resolves. */
export type SettingsService = {
  list(): Promise<OptionView[]>;
  /** The proof that a change of these options takes: of all that they take, the strictest. */
  proofFor(keys: readonly string[]): OptionProof;
  /**
   * All of the changes or none. `views` are the named options, `changed` those that are another
   * now. `force`: whoever is bound at a provider stays so although its address changes.
   */
  change(
    changes: readonly { key: string; value: string }[],
    how?: { force?: boolean | undefined },
  ): Promise<Result<{ views: OptionView[]; changed: OptionChanged[] }, OptionFault[]>>;
};

/** What came of a trial, step by step; each message is a sentence without any secret. */
export type TrialResult = { ok: boolean; steps: { name: string; ok: boolean; message: string }[] };
/**
 * Tries what the options describe; never rejects for what the other side does. `to` and `language`
 * are those of a test mail.
 */
type RunTrial = (input: { to: string | undefined; language: string }) => Promise<TrialResult>;

export type OptionTrials = Record<OptionTrial, RunTrial>;

/**
 * What the options say to everybody. A way in is true while it is switched on and has all that it
 * needs; ids and names are empty otherwise.
 */
export type PublicSettings = {
  system_name: string;
  server_address: string;
  email_verification: boolean;
  register_enabled: boolean;
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
