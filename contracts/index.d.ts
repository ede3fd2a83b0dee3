/// <reference path="./globals.d.ts" />
export type * from './v1.d.ts';
