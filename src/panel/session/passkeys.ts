import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { UserError } from '../api/api-error.ts';

/** Browsers support passkeys in secure contexts only: https or localhost. */
export const hasPasskeys = (): boolean => window.isSecureContext && 'PublicKeyCredential' in window;

/**
 * Opens the browser's dialog that creates a passkey; returns the credential for the server.
 * @throws UserError
 */
export async function createPasskey(options: PublicKeyCredentialCreationOptionsJSON) {
  const { startRegistration } = await import('@simplewebauthn/browser');
  return withUserErrors(startRegistration({ optionsJSON: options }));
}

/**
 * Opens the browser's dialog that uses a passkey; returns the credential for the server.
 * @throws UserError
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
    // The device already holds a passkey of this account.
    if (name === 'InvalidStateError') throw new UserError('passkey.known');
    if (name === 'NotAllowedError' || name === 'AbortError') throw new UserError('passkey.cancelled');
    throw new UserError('passkey.failed');
  }
}
