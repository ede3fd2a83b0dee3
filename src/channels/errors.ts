import { AppError, defineErrors } from '../kernel/index.ts';

export const channelErrors = defineErrors('channels', {
  not_found: ['not_found', 'There is no such channel.'],
  invalid: ['invalid', 'The channel cannot be saved.'],
  key_required: [
    'forbidden',
    'Changing the address, the type or the plugin of a channel sends its key somewhere else: enter the key again.',
  ],
  headers_required: [
    'forbidden',
    'Changing the address, the type or the plugin of a channel sends its headers somewhere else: send each value again, or none.',
  ],
  removed_key_held: [
    'forbidden',
    'A removed key of this channel may still serve tasks, which would send it somewhere else: create another channel, or let root prove that they may read keys.',
  ],
  script_root_only: [
    'forbidden',
    'settings.balance_script is code that gets the key of the channel: only root may add or change it. Send the stored script, or ask root.',
  ],
  key_unreadable: [
    'unavailable',
    'The stored key of this channel cannot be read with the current CRYPTO_SECRET. Enter the key again.',
  ],
  several_credentials: ['conflict', 'This channel has several keys: change the one that is meant, by its id.'],
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
