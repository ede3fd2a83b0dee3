import { describeBackupDrill } from './backup-drill.ts';

describeBackupDrill('SQLite');
