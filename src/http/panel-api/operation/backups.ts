import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { sentence } from '../../../kernel/index.ts';
import type { BackupsView } from '../../../operations/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import { httpErrors } from '../../responses/errors.ts';
import type { RecordAudit } from '../record-audit.ts';

export type BackupRouteDeps = {
  auth: Auth;
  backups: { view(): Promise<BackupsView>; begin(): boolean };
  audit: RecordAudit;
};

export function backupRoutes(kit: Kit, { auth, backups, audit }: BackupRouteDeps) {
  return new Elysia({ normalize: false, tags: ['System'] })
    .use(kit)
    .get('/api/backup', async () => ok(await backups.view()), {
      root: true,
      detail: { summary: 'Get the backup schedule and latest runs' },
    })
    .post(
      '/api/backup',
      async ({ request, panel, origin }) => {
        await auth.proofs.require(panel, readProof(request), 'settings.security');
        if (!backups.begin()) {
          throw httpErrors.validation_failed({ message: sentence('backup.no_place') });
        }
        await audit({ panel, origin }, { action: 'backup.begin', target: 'backup:now', detail: {} });
        return ok({ started: true });
      },
      {
        root: true,
        critical: true,
        proof: { scope: 'settings.security' },
        detail: {
          summary: 'Start a backup',
          description: 'Answers when it is begun; the runs of GET /api/backup say how it ends.',
        },
      },
    );
}
