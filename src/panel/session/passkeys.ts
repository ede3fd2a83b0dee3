import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { UserError } from '../api/user-error.ts';

/** Browsers have passkeys in secure contexts alone: over https, or on the machine itself. */
export const hasPasskeys = (): boolean => window.isSecureContext && 'PublicKeyCredential' in window;

/**
 * The browser's dialog that makes a passkey; gives what the server is to check. Throws a
 * `UserError`.
 */
export async function createPasskey(options: PublicKeyCredentialCreationOptionsJSON) {
  const { startRegistration } = await import('@simplewebauthn/browser');
  return withUserErrors(startRegistration({ optionsJSON: options }));
}

/**
 * The browser's dialog that uses a passkey; gives what the server is to check. Throws a
 * `UserError`.
 */
export async function getPasskeyAssertion(options: PublicKeyCredentialRequestOptionsJSON) {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  return withUserErrors(startAuthentication({ optionsJSON: options }));
}

async function withUserErrors<T>(ceremony: Promise<T>): Promise<T> {
  try {
    return await ceremony;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    // The device holds a passkey of this account already.
    if (name === 'InvalidStateError') throw new UserError('passkey.known');
    if (name === 'NotAllowedError' || name === 'AbortError') throw new UserError('passkey.cancelled');
    throw new UserError('passkey.failed');
  }
}
