import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { ChangeSecurity } from '../change-security.ts';
import type { RotationBundle } from '../sessions/describe-session.ts';
import type { PanelPrincipal } from '../types.ts';
import type { Authenticator } from './authenticator.ts';
import type { BackupCodes } from './backup-codes.ts';
import type { ConsumeCode } from './consume-code.ts';
import { createDescribeTwoFactor, type TwoFactorStatus } from './describe-two-factor.ts';
import { type ConfirmedByCode, createDisableTwoFactor } from './disable-two-factor.ts';
import { createEnableTwoFactor } from './enable-two-factor.ts';
import { createReplaceBackupCodes, type NewBackupCodes } from './replace-backup-codes.ts';
import { createSetUpTwoFactor, type TwoFactorSetup } from './set-up-two-factor.ts';

/** What a user does with his own second factor. All but `status` need a session. */
export interface TwoFactor {
  status(principal: PanelPrincipal): Promise<TwoFactorStatus>;
  setUp(principal: PanelPrincipal): Promise<TwoFactorSetup>;
  enable(principal: PanelPrincipal, code: string): Promise<RotationBundle>;
  disable(principal: PanelPrincipal, confirmed: ConfirmedByCode): Promise<RotationBundle>;
  replaceBackupCodes(principal: PanelPrincipal, confirmed: ConfirmedByCode): Promise<NewBackupCodes>;
}

export const createTwoFactor = (room: {
  store: Store;
  clock: Clock;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  consumeCode: ConsumeCode;
  changeSecurity: ChangeSecurity;
}): TwoFactor => ({
  status: createDescribeTwoFactor(room),
  setUp: createSetUpTwoFactor(room),
  enable: createEnableTwoFactor(room),
  disable: createDisableTwoFactor(room),
  replaceBackupCodes: createReplaceBackupCodes(room),
});
