import { sql } from 'drizzle-orm';
import type { Tables } from '../schema/index.ts';

/** The columns of a user record, without credentials of other kinds. */
export const userColumns = ({ users }: Tables) => ({
  id: users.id,
  username: users.username,
  displayName: users.displayName,
  passwordHash: users.passwordHash,
  role: users.role,
  status: users.status,
  email: users.email,
  group: users.group,
  quota: users.quota,
  usedQuota: users.usedQuota,
  requestCount: users.requestCount,
  language: users.language,
  authVersion: users.authVersion,
  linkVersion: users.linkVersion,
  createdAt: users.createdAt,
  lastLoginAt: users.lastLoginAt,
});

/** The columns of the record that administrators see. */
export const adminColumns = (tables: Tables) => ({
  ...userColumns(tables),
  remark: tables.users.remark,
  inviterId: tables.users.inviterId,
  hasAccessToken: sql<boolean>`${tables.users.accessToken} is not null`.mapWith(Boolean),
  deletedAt: tables.users.deletedAt,
});
