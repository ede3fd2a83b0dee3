import { baseAddress, MAX_TEXT, type OptionRules, originAddress, text } from './option-rule.ts';

export const gatewayOptions = {
  /** The gateway's name in the panel, in mails, authenticator apps and passkey dialogs. */
  SystemName: {
    proof: 'none',
    ...text('Taskgate', (value) => value.trim() !== '', `one line of 1 to ${MAX_TEXT} visible characters`),
  },
  /** The address at which people reach the gateway; links in answers and mails begin with it. */
  ServerAddress: { proof: 'settings.security', ...originAddress() },
  /** The address at which vendors and clients fetch artifacts, if it differs. */
  TaskPublicAddress: { proof: 'settings.security', ...baseAddress('') },
} satisfies OptionRules;
