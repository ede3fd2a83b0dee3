import { describeSessionMatrix } from './session-matrix.ts';

describeSessionMatrix('PostgreSQL');
