import { boolean, integer, isDomain, list, type OptionRules } from './option-rule.ts';

const MAX_DOMAINS = 200;
/** Far above any grant, and far below the point where sums of balances stop being exact. */
const MAX_QUOTA = 1_000_000_000_000;

export const signInOptions = {
  PasswordLoginEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether anybody can create an account, by any method. */
  RegisterEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether an account can be created with a password. */
  PasswordRegisterEnabled: { proof: 'settings.security', ...boolean(true) },
  /** Whether a new account needs an address verified by a mailed code. */
  EmailVerificationEnabled: { proof: 'settings.security', ...boolean(false) },
  /** Whether new addresses must belong to `EmailDomainWhitelist`. */
  EmailDomainRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  EmailDomainWhitelist: {
    proof: 'settings.security',
    ...list({
      initial: [
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
      maximum: MAX_DOMAINS,
      allows: isDomain,
      wanted: 'domains in lower case, without @ (example.org,example.com)',
    }),
  },
  /** Whether addresses with `+` or `.` before the @ are refused: one mailbox has many of those. */
  EmailAliasRestrictionEnabled: { proof: 'settings.security', ...boolean(false) },
  /** The balance of a new account; 500,000 are one US dollar. */
  QuotaForNewUser: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** Granted to the owner of an affiliate code for each account created with it. */
  QuotaForInviter: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
  /** What an account made with an affiliate code gets besides. */
  QuotaForInvitee: { proof: 'none', ...integer(0, 0, MAX_QUOTA) },
} satisfies OptionRules;
