import { expect, test } from 'bun:test';
import { ROLE } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { openTestStore } from './harness.ts';
import { mailSettings, openMailAuth } from './mail-harness.ts';

test('a failed backup is mailed to administrators with an address, in their language, and to nobody else', async () => {
  const { store, stop } = await openTestStore('sqlite');
  try {
    await addUser(store, { role: ROLE.root, email: 'root@example.org' });
    await addUser(store, { role: ROLE.admin, email: 'admin@example.org', language: 'zh' });
    const gone = await addUser(store, { role: ROLE.admin, email: 'gone@example.org', status: 2 });
    await addUser(store, { role: ROLE.admin });
    await addUser(store, { email: 'user@example.org' });
    const { auth, mailbox } = openMailAuth(store, { settings: mailSettings });
    const failed = { kind: 'backup_failed', reason: 'the folder is full (ENOSPC)' };
    const send = (userId: number) => auth.mail.sendStored({ eventId: `msg_${userId}`, userId, payload: failed });
    const administrators = await auth.mail.findAdministrators(store);
    expect(await Promise.all(administrators.map(send))).toEqual(['sent', 'sent']);
    expect((await mailbox.next('root@example.org')).text).toContain('“the folder is full (ENOSPC)”');
    const chinese = await mailbox.next('admin@example.org');
    expect(chinese.subject).toContain('备份失败');
    // The server's English sentence stands apart, and says what it is.
    expect(chinese.text).toContain('的每日备份失败。\n');
    expect(chinese.text).toContain('（英文）：“the folder is full (ENOSPC)”');
    expect(mailbox.mails).toHaveLength(2);
    // An administrator who was disabled in the meantime is no longer mailed.
    expect(await send(gone.id)).toBe('refused');
    const silent = openMailAuth(store, { settings: () => mailSettings({ mail: undefined }) });
    expect(await silent.auth.mail.findAdministrators(store)).toEqual([]);
    await auth.mail.stop(5000);
  } finally {
    await stop();
  }
});
