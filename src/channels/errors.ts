import { AppError, defineErrors } from '../kernel/index.ts';

export const channelErrors = defineErrors('channels', {
  not_found: ['not_found', 'There is no such channel.'],
  invalid: ['invalid', 'The channel cannot be saved.'],
  key_required: [
    'forbidden',
    'Changing the address, the type or the plugin of a channel sends its key to another address. Enter the key again.',
  ],
  headers_required: [
    'forbidden',
    'Changing the address, the type or the plugin of a channel sends its headers to another address. Send each value again, or none.',
  ],
  removed_key_held: [
    'forbidden',
    'A removed key of this channel may still serve tasks and would go to another address. Create another channel, or have root confirm that they may read keys.',
  ],
  script_root_only: [
    'forbidden',
    'settings.balance_script is code that gets the key of the channel: only root may add or change it. Send the stored script, or ask root.',
  ],
  key_unreadable: [
    'unavailable',
    "Can't decrypt this channel's key with the current CRYPTO_SECRET. Enter the key again.",
  ],
  several_credentials: ['conflict', 'This channel has several keys. Change the one you mean by its ID.'],
  last_credential: [
    'conflict',
    'A channel keeps at least one key: replace this one, add another first, or disable the channel.',
  ],
  credential_not_found: ['not_found', 'The channel has no such credential.'],
  no_available_channel: ['unavailable', 'No channel is available for this model.'],
  demo_unavailable: ['conflict', 'The demo channel cannot be created here.'],
});

/** No CRYPTO_SECRET decrypts the channel's key. The start and the panel name such channels. */
export const isUnreadableKey = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === channelErrors.key_unreadable().code;
