import type { DecidingIp } from '../../src/auth/index.ts';

/** An address as the HTTP room gives it to limits. */
export const at = (ip: string): DecidingIp => ip as DecidingIp;
