import { describeBackupDrill } from './backup-drill.ts';

describeBackupDrill('SQLite');
describeBackupDrill('SQLite', { bucket: true, orders: 30 });
describeBackupDrill('PostgreSQL', { orders: 30 });
describeBackupDrill('PostgreSQL', { bucket: true });
