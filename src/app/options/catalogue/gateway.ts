import { baseAddress, boolean, MAX_TEXT, text } from '../option-rule.ts';

export const gatewayOptions = {
  /** Names the gateway in the panel, in mails, authenticator apps and passkey dialogs. */
  SystemName: text('Taskgate', (value) => value.trim() !== '', `one line of 1 to ${MAX_TEXT} characters`),
  /** Where people reach the gateway; links in answers and mails begin with it. */
  ServerAddress: baseAddress(''),
  /** Where vendors and clients fetch artifacts, if that is elsewhere. */
  TaskPublicAddress: baseAddress(''),
  /** Tells the panel that one person uses the gateway alone. */
  SelfUseModeEnabled: boolean(false),
  /** Tells the panel to say that this is a demonstration. */
  DemoSiteEnabled: boolean(false),
};
