import { describeBackupDrill } from './backup-drill.ts';

describeBackupDrill('SQLite', { bucket: true, orders: 30 });
describeBackupDrill('PostgreSQL', { orders: 30 });
describeBackupDrill('PostgreSQL', { bucket: true });
