/** What people see while a mail server, in a process of its own, pushes changes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { examineMail } from '../../src/mail/health.ts';
import { requestReadings } from '../../src/mail/polling.ts';
import { type MasterData, masterData } from '../_util/master-data.ts';
import { type Service, startService } from '../_util/service.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';

const mailbox = 'aula@mail.test';
let mailServer: MailServer;
let service: Service;
let admin: MasterData;
beforeAll(async () => {
  mailServer = await startMailServer();
  await mailServer.addRoom(mailbox);
  const settings = {
    MailServer__School__Kind: 'Ews',
    MailServer__School__Url: mailServer.ews,
    MailServer__School__User: mailServer.user,
    MailServer__School__Password: mailServer.password,
    MailServer__School__FutureDays: '30',
  };
  service = await startService(settings, ['Aula']);
  admin = masterData(service, await service.signIn(service.tenant, 'Admin'));
});
afterAll(async () => {
  await service.stop();
  await mailServer.stop();
});

type Tree = Record<string, unknown>;
const query = `{ mailSubscriptions { state pushWorks lastPushAt foundByPush fault { kind } conflicts { subject bookingId } } }`;
/** The calendar, once it is so; a sweep comes round every two seconds. */
async function see(expected: Tree): Promise<Tree> {
  for (const end = performance.now() + 60_000; ; await sleep(20)) {
    const { data } = await admin.ask(query);
    const [calendar = {}] = data!['mailSubscriptions'] as Tree[];
    if (JSON.stringify({ ...calendar, ...expected }) === JSON.stringify(calendar)) return calendar;
    if (performance.now() > end) expect(calendar).toEqual({ ...calendar, ...expected });
  }
}
/** Resolves when every notified change is read. */
async function settle(): Promise<void> {
  const isRead = () =>
    service.context.db
      .selectFrom('mail_calendar')
      .where('dirty_since', 'is', null)
      .where('read_at', 'is not', null)
      .select('id')
      .executeTakeFirst();
  while (!(await isRead())) await sleep(20);
}
const at = (hours: number) => new Date((Math.ceil(Date.now() / 3_600_000) + hours) * 3_600_000).toISOString();
const doctor = async () =>
  (await examineMail(service.context)).map(({ check, level, text }) => `${level} ${check}: ${text}`);

test('working push, a conflict that ends, and lost access', async () => {
  const resourceId = service.tenant.resources[0]!.id;
  expect((await admin.patch(`/resources/${resourceId}`, { Mailbox: mailbox })).status).toBe(200);
  expect(await see({ pushWorks: true })).toMatchObject({ state: 'Active', fault: null });
  // Before, the change would be found by the reading that the first sight of the calendar asks for.
  await settle();

  await mailServer.appoint(mailbox, { subject: 'Consilium', start: at(20), end: at(21) });
  expect(await see({ foundByPush: 1 })).toMatchObject({ conflicts: [], lastPushAt: expect.any(String) });
  const well = await doctor();
  expect(well).toContainEqual(
    expect.stringMatching(/^ok Mail: school: Ews, 1 calendar, push works for 1, .* by push 1, by polling 0$/),
  );
  expect(well.filter((line) => !line.startsWith('ok'))).toEqual([]);

  const { body } = await admin.post('/bookings', {
    ResourceId: resourceId,
    Subject: 'Ours',
    Start: at(30),
    End: at(31),
  });
  await mailServer.appoint(mailbox, { subject: 'Too late', start: at(30), end: at(31) });
  await see({ conflicts: [{ subject: 'Too late', bookingId: String(body['Id']) }] });
  expect(await doctor()).toContainEqual(
    expect.stringMatching(/^warning Calendar: school\/Aula \(aula@mail\.test\): 1 item is not booked/),
  );
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics).toMatch(/^roomgate_mail_conflicts 1$/m);
  expect(metrics).toMatch(/^roomgate_mail_subscriptions\{state="Active"\} 1$/m);
  expect(metrics).toMatch(/^roomgate_mail_notifications_recorded_total\{verdict="Accepted"\} [1-9]/m);
  expect((await admin.send('DELETE', `/bookings/${body['Id']}`)).status).toBe(200);
  await see({ conflicts: [] });

  await mailServer.setRoom(mailbox, { isAccessible: false });
  const { db } = service.context;
  const calendars = await db.selectFrom('mail_calendar').select('id').execute();
  await requestReadings(
    db,
    service.tenant.mandatorId,
    calendars.map(({ id }) => id),
    { whole: true },
  );
  await see({ fault: { kind: 'AccessLost' } });
  expect(await doctor()).toContainEqual(expect.stringMatching(/^fault Calendar: .*cannot be read \(AccessLost/));
});
