import { baseAddress, MAX_TEXT, type OptionRules, text } from './option-rule.ts';

export const gatewayOptions = {
  /** Names the gateway in the panel, in mails, authenticator apps and passkey dialogs. */
  SystemName: {
    proof: 'none',
    ...text('Taskgate', (value) => value.trim() !== '', `one line of 1 to ${MAX_TEXT} characters`),
  },
  /** Where people reach the gateway; links in answers and mails begin with it. */
  ServerAddress: { proof: 'settings.security', ...baseAddress('') },
  /** Where vendors and clients fetch artifacts, if that is elsewhere. */
  TaskPublicAddress: { proof: 'settings.security', ...baseAddress('') },
} satisfies OptionRules;
