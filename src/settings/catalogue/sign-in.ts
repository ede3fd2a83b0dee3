import { boolean, integer, isDomain, list, type OptionRules } from './option-rule.ts';

const MAX_DOMAINS = 200;
/** Far above any grant, far below where sums of balances stop being exact. */
const MAX_QUOTA = 1_000_000_000_000;

export const signInOptions = {
  PasswordLoginEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether new accounts can be made by anybody, by any method. */
  RegisterEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether a new account can be made with a password. */
  PasswordRegisterEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether a new account needs an address to which a code was mailed. */
  EmailVerificationEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether new addresses must belong to `EmailDomainWhitelist`. */
  EmailDomainRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  EmailDomainWhitelist: {
    proof: 'settings.security',
    ...list(
      [
        'gmail.com',
        '163.com',
        '126.com',
        'qq.com',
        'outlook.com',
        'hotmail.com',
        'icloud.com',
        'yahoo.com',
        'foxmail.com',
      ],
      MAX_DOMAINS,
      isDomain,
      'domains in lower case, without @ (example.org,example.com)',
    ),
  },
  /**
   * Whether addresses with `+` or `.` before the @ are refused: one mailbox can have many of those.
   */
  EmailAliasRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  /** What a new account starts with; 500,000 are one US dollar. */
  QuotaForNewUser: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** What the owner of an affiliate code gets for each account made with it. */
  QuotaForInviter: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** What an account made with an affiliate code gets besides. */
  QuotaForInvitee: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
} satisfies OptionRules;
