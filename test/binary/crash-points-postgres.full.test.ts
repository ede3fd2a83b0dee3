import { describeCrashPoints } from './crash-points.ts';

describeCrashPoints('PostgreSQL');
