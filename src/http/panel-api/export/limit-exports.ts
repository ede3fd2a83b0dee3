import type { AccessWatch, Auth, PanelPrincipal } from '../../../auth/index.ts';
import { createConcurrencyLimit } from '../../../kernel/index.ts';
import { httpErrors } from '../../errors.ts';
import { isAdmin } from '../../pipeline/authorize-request.ts';

/**
 * Exports at the same time on this node: of users together, of administrators together, and of one
 * account. Users who read slowly leave administrators theirs.
 */
const LIMITS = { users: 4, administrators: 4, account: 1 } as const;
const RETRY_AFTER_SECONDS = 10;
/** A client that reads a little now and then would else keep its place for ever. */
const LONGEST_MS = 30 * 60_000;

export type RunningExport = {
  /** Its signal aborts when the client or its access is gone, or the export took too long. */
  access: AccessWatch;
  /** Gives the place back; may be called twice. */
  end(): void;
};

/** @throws http.exports_limited */
export type BeginExport = (panel: PanelPrincipal, request: Request) => RunningExport;

export function createExportLimit({ watchAccess }: Pick<Auth, 'watchAccess'>): BeginExport {
  const limit = createConcurrencyLimit();
  return (panel, request) => {
    const kind = isAdmin(panel) ? 'administrators' : 'users';
    const slots = limit.acquire([
      { name: kind, max: LIMITS[kind] },
      { name: `account ${panel.user.id}`, max: LIMITS.account },
    ]);
    if (slots.full) throw httpErrors.exports_limited({ retryAfterSeconds: RETRY_AFTER_SECONDS });
    const access = watchAccess(panel, AbortSignal.any([request.signal, AbortSignal.timeout(LONGEST_MS)]));
    return {
      access,
      end() {
        slots.release();
        access.stop();
      },
    };
  };
}
