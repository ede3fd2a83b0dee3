import { Gauge, type Registry } from 'prom-client';
import type { Backups } from '../../operations/backup/backup-schedule.ts';
import type { DataCheck } from '../../operations/doctor/weekly-check.ts';
import type { ClockCheck } from '../../operations/watches/watch-clock.ts';
import type { DiskWatch } from '../../operations/watches/watch-disks.ts';
import { readFromStore, withinDeadline } from '../../telemetry/metrics/read-from-store.ts';

export type StoreServices = {
  disks: Pick<DiskWatch, 'states'>;
  backups: Pick<Backups, 'lastDone'>;
  dataCheck: Pick<DataCheck, 'latest'>;
  clockCheck: Pick<ClockCheck, 'aheadMs'>;
  databaseSize: () => Promise<{ bytes: number; freeBytes: number }>;
  /** Rejects while the database is unavailable. */
  ping: () => Promise<unknown>;
};

/** The database with its clock, the disks, the backups and the weekly check. */
export function measureStore(registry: Registry, services: StoreServices): void {
  const { disks, clockCheck, ping } = services;
  const isUp = withinDeadline(ping);
  new Gauge({
    name: 'taskgate_database_up',
    help: 'Whether the database answers: 1 or 0. At 0, the figures read from it are the last ones known, or NaN.',
    registers: [registry],
    async collect() {
      this.set((await isUp()) ? 1 : 0);
    },
  });
  const databaseSize = readFromStore(services.databaseSize);
  new Gauge({
    name: 'taskgate_database_bytes',
    help: 'Size of the database: all of it, and what a SQLite file keeps free for later rows.',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      const size = await databaseSize();
      if (!size) return;
      this.set({ part: 'all' }, size.bytes);
      this.set({ part: 'free' }, size.freeBytes);
    },
  });
  new Gauge({
    name: 'taskgate_clock_ahead_seconds',
    help: "How far the clock of this node is ahead of the database's; behind is negative, and SQLite has the same one.",
    registers: [registry],
    collect() {
      this.set(clockCheck.aheadMs() / 1000);
    },
  });
  new Gauge({
    name: 'taskgate_disk_free_bytes',
    help: 'Free bytes of the file systems of this node: of the data directory and of the folder of uploads.',
    labelNames: ['place'],
    registers: [registry],
    collect() {
      for (const { name, freeBytes } of disks.states())
        if (freeBytes !== undefined) this.set({ place: name }, freeBytes);
    },
  });
  measureBackups(registry, services.backups);
  measureDataCheck(registry, services.dataCheck);
}

/** Both are 0 before the first backup. */
function measureBackups(registry: Registry, backups: StoreServices['backups']): void {
  const lastDone = readFromStore(async () => (await backups.lastDone()) ?? { startedAt: 0, bytes: 0 });
  new Gauge({
    name: 'taskgate_backup_last_success_timestamp_seconds',
    help: 'When the latest backup that was made and verified was begun, on all nodes, in Unix seconds.',
    registers: [registry],
    async collect() {
      this.set((await lastDone())?.startedAt ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_backup_last_size_bytes',
    help: 'Bytes of the latest backup: database and kept results.',
    registers: [registry],
    async collect() {
      this.set((await lastDone())?.bytes ?? Number.NaN);
    },
  });
}

/** Both are 0 before the first check. */
function measureDataCheck(registry: Registry, dataCheck: StoreServices['dataCheck']): void {
  const latest = readFromStore(() => dataCheck.latest());
  new Gauge({
    name: 'taskgate_data_check_timestamp_seconds',
    help: 'When the latest weekly check of pages, indexes and ledger ended, on all nodes, in Unix seconds.',
    registers: [registry],
    async collect() {
      this.set((await latest())?.checkedAt ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_data_check_faults',
    help: 'What the latest weekly check of pages, indexes and ledger found damaged.',
    registers: [registry],
    async collect() {
      this.set((await latest())?.faults.length ?? Number.NaN);
    },
  });
}
