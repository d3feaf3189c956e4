/** Activity, door signs, mail, webhooks and use, in the console of an Admin. */

import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Browser } from 'playwright-core';
import { english } from '../../../src/web/display/english.ts';
import { makeDisplay } from '../../_util/factories.ts';
import { type MasterData, masterData } from '../../_util/master-data.ts';
import { until } from '../../_util/process.ts';
import { type Service, startService } from '../../_util/service.ts';
import { makeCalendar, makeConflicts, makeUnwritten } from '../../mail/_util/rows.ts';
import { answering, type Receiver, startReceiver, verified } from '../../webhooks/_util/receiver.ts';
import { makeWebhook } from '../../webhooks/_util/rows.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

type Opened = Awaited<ReturnType<typeof openConsole>>;

describeInBrowser('What Admins watch in the console', () => {
  let service: Service;
  let browser: Browser;
  let api: MasterData;
  let admin: Opened;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
    // Without a worker, who would retire calendars that no setting names.
    const settings = { Role: 'Web', Webhooks__TrustedOrigins: receiver.origin };
    [service, browser] = await Promise.all([
      startService(settings, ['Aula', 'Bibliothek', 'Turnhalle']),
      launchBrowser(),
    ]);
    api = masterData(service, await service.signIn(service.tenant, 'Admin'));
    admin = await openConsole(browser, service);
    await admin.open('?screen=activity');
    await admin.signIn();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await receiver?.close();
  });

  /** By the menu, which a dialog covers. */
  const speak = (language: string) =>
    admin.page.evaluate(`{
      const [select] = document.querySelectorAll('#account select');
      select.value = '${language}';
      select.dispatchEvent(new Event('change'));
    }`);

  /** Expects no complaint of axe, the policy or the page; also in the other language and the dark theme. */
  async function isSound({ page, violations, complaints }: Opened): Promise<void> {
    for (const [theme = '', language = ''] of [
      ['dark', 'de'],
      ['light', 'en'],
    ]) {
      await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
      await speak(language);
      await page.locator(`html[lang="${language}"]`).waitFor();
      expect({ theme, language, violations: await violations(), complaints }).toMatchObject({
        violations: [],
        complaints: [],
      });
    }
  }
  const isTold = (text: string) => admin.page.locator('.toast').getByText(text).waitFor();
  const db = () => service.context.db;
  const roomId = (index: number) => service.tenant.resources[index]?.id as number;

  describe('activity', () => {
    test('says that nothing needs attention', async () => {
      await admin.page.getByText('Nothing at present').waitFor();
      await admin.page.getByText('Nothing was done in this selection').waitFor();
      await isSound(admin);
    });

    test('names what is silent, faulty, failed, waiting and about to end, faults first, and leads there', async () => {
      const { page } = admin;
      const { mandatorId, person } = service.tenant;
      const { displayId } = await makeDisplay(db(), service.tenant, { name: 'Tür Aula' });
      await sql`update display set silent_since = '2026-11-20T08:00:00Z', heard_at = '2026-11-19T08:00:00Z', health = '{"program":"x","battery":7}'
        where id = ${displayId}`.execute(db());
      await makeCalendar(
        db(),
        { mandatorId, resourceId: roomId(1) },
        {},
        `fault = 'AccessLost', fault_text = 'The account may not read it.', not_before = '2126-11-20T09:00:00Z'`,
      );
      await sql`insert into pin (mandator_id, person_id, hash, label, expires_at)
        select ${mandatorId}, ${person('Importer').id}, decode(repeat('ab', 32), 'hex'), 'timetable', now() + interval '3 days'`.execute(
        db(),
      );
      // The page hears of it by itself.
      await sql`insert into batch (mandator_id, id, operation, import_status, job_count, error_count, failure_kind,
          error_messages, request_id, created_by, finished_at)
        values (${mandatorId}, gen_random_uuid(), 'Create', 'LessonsImportFailed', 1, 3, 'Data', 'x', 'r',
          ${person('Importer').id}, now())`.execute(db());
      const matters = page.locator('.matters li');
      await page.getByText('An import by Importer of school failed').waitFor();
      // What the page asked for amid the changes may lack some of them; it asks again.
      await matters.nth(4).waitFor();
      expect(await matters.allInnerTexts()).toEqual([
        expect.stringMatching(/^Fault\s+Door sign Tür Aula has been silent since Thu, .*\s+Door signs$/),
        expect.stringMatching(/The calendar of Bibliothek cannot be read: The mail server refuses access\.\s+Mail$/),
        expect.stringMatching(/An import by Importer of school failed at .*, with 3 errors\.\s+Timetables$/),
        expect.stringMatching(/^Note\s+The battery of door sign Tür Aula is at 7 %\.\s+Door signs$/),
        expect.stringMatching(/The PIN “timetable” of Importer of school ends on .*\s+Master data$/),
      ]);
      expect(await matters.first().getByRole('link').getAttribute('href')).toMatch(/^\?screen=signs&sign=display_/);
      await isSound(admin);
    });

    test('shows problems of rooms at once, and settles them unless that is undone', async () => {
      const { page } = admin;
      const { mandatorId, resources } = service.tenant;
      const { displayId } = await makeDisplay(db(), service.tenant, { name: 'Tür Aula 2' });
      const report = (kind: string) =>
        sql`insert into room_problem (mandator_id, resource_id, display_id, key, kind, text, reported_at)
          values (${mandatorId}, ${resources[0]?.id}, ${displayId}, 'one', ${kind}, 'flimmert', now())`.execute(db());
      await report('Projector');
      const told = page.locator('.matters li').filter({ hasText: 'projector, screen, “flimmert”, reported' });
      await told.waitFor();
      await isSound(admin);
      const settle = told.getByRole('button', { name: /^Done: Aula/ });
      await settle.press('Enter');
      await told.waitFor({ state: 'detached' });
      await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
      await told.waitFor();
      await settle.click();
      await page.locator('.toast').getByRole('button', { name: 'Do it now' }).click();
      await told.waitFor({ state: 'detached' });
      const isSettled = async () =>
        (await api.get('/room-problems?State=Done')).body['Items'] as Record<string, unknown>[];
      await until(async () => (await isSettled()).length === 1);
      expect(await isSettled()).toMatchObject([{ Kind: 'Projector', DoneBy: expect.anything() }]);
    });

    test('names webhooks that fail or were disabled, and has those sent to again', async () => {
      const { page } = admin;
      const { mandatorId } = service.tenant;
      const gone = await makeWebhook(db(), mandatorId, 'Board');
      await sql`update webhook set disabled_because = 'Gone' where id = ${gone}`.execute(db());
      const failing = await makeWebhook(db(), mandatorId, 'Mirror');
      await sql`update webhook set disabled_at = null, disabled_because = null, failures = 7, failing_since = now()
        where id = ${failing}`.execute(db());
      await makeWebhook(db(), mandatorId, 'Of an Admin');
      await page.getByRole('button', { name: 'Check again' }).click();
      const told = page.locator('.matters li').filter({ hasText: 'webhook' });
      await told.nth(1).waitFor();
      expect(await told.allInnerTexts()).toEqual([
        expect.stringMatching(/^Fault\s+Nothing has been sent to the webhook Board since .*\(410\)\.\s+Send again$/),
        expect.stringMatching(/^Note\s+The webhook Mirror has accepted nothing since .*\s+Webhooks$/),
      ]);
      await isSound(admin);
      await told
        .getByRole('button', { name: /^Send again: Nothing has been sent to the webhook Board/ })
        .press('Enter');
      await told.nth(1).waitFor({ state: 'detached' });
      expect((await api.get(`/webhooks/${gone}`)).body).toMatchObject({ Enabled: true, DisabledBecause: null });
    });

    test('shows who changed what, from what to what, and filters it by the address', async () => {
      const { page, open } = admin;
      const room = `/resources/${roomId(0)}`;
      await api.patch(room, { Capacity: 120 });
      await api.patch(room, { Capacity: 110 });
      await api.post('/persons', {
        Name: 'Neu',
        Email: 'neu@school.example',
        TimeZone: 'UTC',
        Role: 'User',
      });
      await open('?screen=activity');
      const rows = page.getByRole('region', { name: 'Who changed what' }).locator('tbody tr');
      await rows.nth(2).waitFor();
      expect(await rows.nth(1).innerText()).toMatch(/Admin of school\s+Room changed\s+Aula\s+Seats\s+120 → 110/);
      await page.getByLabel('Thing').selectOption({ label: 'Person' });
      await rows.nth(1).waitFor({ state: 'detached' });
      await rows.getByText('Person created').waitFor();
      expect(await rows.allInnerTexts()).toEqual([
        expect.stringMatching(/Person created.*Name\s+set.*Role\s+User\s+Active\s+yes$/s),
      ]);
      expect(page.url()).toContain('noun=Person');
      await page.getByLabel('to', { exact: true }).fill('2020-01-01');
      await page.getByText('Nothing was done in this selection').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await rows.nth(2).waitFor();
      await isSound(admin);
    });

    test('says it in the words of the forms, with names in place of numbers', async () => {
      const { page, open } = admin;
      const { Id } = (await api.post('/groups', { Name: 'Teachers' })).body;
      await api.post('/policies', { Name: 'Labs', MayBook: [Id], NeedsApproval: true });
      const setRules = (Items: object[]) =>
        api.send('PUT', `/opening-hours/${roomId(0)}/rules`, { body: { Items }, headers: { 'If-Match': '*' } });
      const rule = { Weekdays: [1, 2], Opens: '08:00', Closes: '18:00', ValidFrom: null, ValidTo: null };
      await setRules([rule]);
      await setRules([rule, { ...rule, Weekdays: [3] }]);
      await open('?screen=activity');
      const rows = page.getByRole('region', { name: 'Who changed what' }).locator('tbody tr');
      await rows.nth(3).waitFor();
      const [added, hours, policy] = await rows.allInnerTexts();
      expect(added).toMatch(/Weekly hours replaced\s+Aula\s+Weekly hours\s+Wednesday 08:00–18:00$/);
      expect(hours).toMatch(/Weekly hours replaced\s+Aula\s+Weekly hours\s+Monday, Tuesday 08:00–18:00$/);
      expect(policy).toMatch(/Policy created\s+Labs/);
      expect(policy).toMatch(/Who books\s+Teachers\s+Bookings need approval\s+yes/);
      await page.getByLabel('Action').selectOption({ label: 'Policy created' });
      await rows.nth(1).waitFor({ state: 'detached' });
      expect(page.url()).toContain('action=create+policy');
      await isSound(admin);
      await setRules([]);
    });

    test('is not there for a User', async () => {
      const user = await openConsole(browser, service, { role: 'User' });
      await user.open('?screen=activity');
      await user.signIn();
      await user.page.getByRole('link', { name: 'Rooms' }).waitFor();
      expect(await user.page.getByRole('navigation').getByRole('link').allInnerTexts()).not.toContain('Activity');
      await user.close();
    });
  });

  describe('door signs', () => {
    test('keep what somebody else has changed meanwhile: only what was edited is sent, after that was shown', async () => {
      const { page } = admin;
      const grant = { name: 'Tür Turnhalle', privacy: 'Title', mayBook: false } as const;
      const { displayId } = await makeDisplay(db(), service.tenant, grant);
      await admin.open('?screen=signs');
      await page.getByRole('button', { name: 'Tür Turnhalle', exact: true }).click();
      await page.getByRole('button', { name: 'Change' }).click();
      await page.getByLabel('Name').fill('Meins');
      await api.patch(`/displays/${displayId}`, { Name: 'Ihres', MayBook: true, Privacy: 'Organizer' });
      // The form keeps what it has read, whatever the page hears meanwhile.
      await page.locator('.signs').getByRole('button', { name: 'Ihres', includeHidden: true }).waitFor();
      await page.getByRole('button', { name: 'Save' }).click();
      const alert = page.getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
      await alert.getByText('Name: Tür Turnhalle → Ihres').waitFor();
      await isSound(admin);
      await page.getByRole('button', { name: 'Save' }).click();
      await isTold('Meins is changed.');
      const stored = async () => (await api.get(`/displays/${displayId}`)).body;
      expect(await stored()).toMatchObject({ Name: 'Meins', MayBook: true, Privacy: 'Organizer' });
      await page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();
      await until(async () => (await stored())['Name'] === 'Ihres');
      await page.keyboard.press('Escape');
    });

    test('are paired by the code that they show, into the cards and their preview', async () => {
      const { page } = admin;
      await admin.open('?screen=signs');
      const { body } = await api.post('/displays/pairings', {});
      await page.getByRole('button', { name: 'Pair a sign …' }).click();
      await page.getByLabel('Code').fill('WRONG');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').locator('.refused, .fault').first().waitFor();
      await isSound(admin);
      await page.getByLabel('Code').fill(String(body['Code']));
      await page.getByLabel('Name').fill('Tür Bibliothek');
      await page.getByRole('checkbox', { name: 'Bibliothek' }).check();
      await page.keyboard.press('Enter');
      await isTold('Tür Bibliothek is paired.');
      await page.getByRole('group', { name: 'Preview: Bibliothek' }).first().getByText('Free').waitFor();
      await isSound(admin);
    });

    test('show at once what is booked, as far as their privacy lets them, and that they are silent', async () => {
      const { page } = admin;
      const card = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: 'Tür Bibliothek' }) });
      const now = Date.now();
      await api.post('/bookings', {
        ResourceId: roomId(1),
        Subject: 'Lesekreis',
        Start: new Date(now - 60_000).toISOString(),
        End: new Date(now + 3_600_000).toISOString(),
      });
      await card.getByText('Lesekreis').waitFor();
      // As the sign itself says it.
      await card.getByText(english.states.BUSY).waitFor();
      await card.getByRole('button').click();
      await page.getByRole('button', { name: 'Change' }).click();
      await page.getByLabel('Shows').selectOption({ label: 'only that it is taken' });
      await page.getByRole('button', { name: 'Save' }).click();
      await isTold('Tür Bibliothek is changed.');
      await page.keyboard.press('Escape');
      await card.getByText('Lesekreis').waitFor({ state: 'detached' });
      const health = {
        program: 'sign 7',
        screen: '800x480',
        battery: 41,
        clockAheadSeconds: 3,
        reconnects: 2,
        note: 'dim',
      };
      await sql`update display set silent_since = now(), heard_at = '2026-11-19T08:00:00Z', health = ${JSON.stringify(health)}
        where privacy = 'BusyOnly'`.execute(db());
      await card.getByText(/silent since Thu, .* · 41 %/).waitFor();
      await page.getByRole('button', { name: 'List' }).click();
      const row = page.getByRole('row').filter({ hasText: 'Tür Bibliothek' });
      expect(await row.innerText()).toMatch(/silent since .*Bibliothek\s+41 %\s+sign 7\s+dim/s);
      await row.getByRole('button').click();
      await page.getByRole('dialog').getByText('3 s fast').waitFor();
      await isSound(admin);
    });

    test('are revoked, with the time to take it back, by keys alone', async () => {
      const { page } = admin;
      await page.getByRole('button', { name: 'Revoke' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Undo' }).last().click();
      const row = page.getByRole('row').filter({ hasText: 'Tür Bibliothek' });
      await row.getByRole('button').focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Revoke' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Do it now' }).click();
      await isTold('Tür Bibliothek is revoked.');
      await row.waitFor({ state: 'detached' });
      await page.getByLabel('revoked ones too').check();
      await row.getByText(/revoked /).waitFor();
    });
  });

  test('open problems are counted at their sign and their room, at once', async () => {
    const { page } = admin;
    const row = page.getByRole('row').filter({ hasText: 'Tür Bibliothek' });
    await sql`insert into room_problem (mandator_id, resource_id, display_id, key, kind, reported_at)
      select mandator_id, ${roomId(1)}, id, 'counted', 'Light', now() from display where privacy = 'BusyOnly'`.execute(
      db(),
    );
    await row.getByText('1 open problem').waitFor();
    await page.getByRole('button', { name: 'Previews' }).click();
    await page.getByText(/revoked .* · 1 open problem/).waitFor();
    await isSound(admin);
    await admin.open('?screen=rooms');
    const head = page.getByRole('rowheader', { name: 'Bibliothek' });
    await head.getByText('1 problem').waitFor();
    await isSound(admin);
    const { body } = await api.get('/room-problems?State=Open');
    const [{ Id }] = body['Items'] as [{ Id: number }];
    await api.patch(`/room-problems/${Id}`, { State: 'Done' });
    await head.getByText('1 problem').waitFor({ state: 'detached' });
  });

  describe('mail', () => {
    test('shows each calendar, and both sides of each conflict', async () => {
      const { page } = admin;
      const { mandatorId } = service.tenant;
      const calendarId = await makeCalendar(db(), { mandatorId, resourceId: roomId(0) }, {}, `read_at = now()`);
      const start = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 48 * 3_600_000);
      await api.post('/bookings', {
        ResourceId: roomId(0),
        Subject: 'Elternabend',
        Start: start.toISOString(),
        End: new Date(start.getTime() + 3_600_000).toISOString(),
      });
      await makeConflicts(db(), { mandatorId, calendarId }, start);
      await admin.open('?screen=mail');
      const row = page.getByRole('row').filter({ hasText: 'Bibliothek' });
      await row.getByText('The mail server refuses access.').waitFor();
      await isSound(admin);
      await page.getByRole('button', { name: 'Aula', exact: true }).click();
      const sides = page.getByRole('dialog').getByRole('listitem');
      await sides.getByText('Elternabend').waitFor();
      await isSound(admin);
      await sides.getByRole('link', { name: 'Open the booking' }).click();
      await page.getByRole('dialog').getByText('Elternabend').waitFor();
      await page.waitForURL(/screen=rooms&booking=booking_/, { waitUntil: 'commit' });
    });

    test('shows what the organizers of conflicts were told, and what was declined', async () => {
      const { page } = admin;
      const { mandatorId } = service.tenant;
      const place = { mandatorId, resourceId: roomId(2) };
      const calendarId = await makeCalendar(db(), place, { mailbox: 'told@mail.example' }, `read_at = now()`);
      await makeConflicts(db(), { mandatorId, calendarId }, new Date(Date.now() + 48 * 3_600_000), 3);
      await sql`
        insert into mail_decline (mandator_id, item_id, calendar_id, version, state, reason, not_before)
        select mandator_id, id, calendar_id, content_hash, told, 'It is too late.',
          case told when 'Refused' then now() + interval '1 hour' end
        from mail_item join (values ('Subject 0', 'Refused'), ('Subject 1', 'Nobody'), ('Subject 2', 'Told'))
          as answer (subject, told) using (subject)
        where calendar_id = ${calendarId}`.execute(db());
      await sql`
        update mail_item set state = 'Gone' where calendar_id = ${calendarId} and subject = 'Subject 2'`.execute(db());
      await admin.open('?screen=mail');
      await page.getByRole('row').filter({ hasText: 'told@mail.example' }).getByRole('button').first().click();
      const cards = page.getByRole('dialog').getByRole('listitem');
      await cards.filter({ hasText: 'Subject 0' }).getByText('it is tried again. It is too late.').waitFor();
      await cards.filter({ hasText: 'Subject 1' }).getByText('Nobody has invited the room').waitFor();
      await cards.filter({ hasText: 'Subject 2' }).getByText('Their organizer was told at ').waitFor();
      expect(await page.getByRole('dialog').getByRole('heading', { level: 3 }).allInnerTexts()).toEqual([
        'Conflicts',
        'Declined',
      ]);
      await isSound(admin);
    });

    test('says that the server cannot answer, and recovers by itself', async () => {
      const { page } = admin;
      let isDown = false;
      const unavailable = { message: 'Later.', extensions: { code: 'UNAVAILABLE' } };
      await page.routeWebSocket(/graphql$/, (socket) => {
        const server = socket.connectToServer();
        socket.onMessage((message) => {
          const { id, type, payload } = JSON.parse(String(message));
          if (!isDown || type !== 'subscribe' || !payload.query.includes('FollowCalendars'))
            return server.send(message);
          socket.send(JSON.stringify({ id, type: 'next', payload: { errors: [unavailable] } }));
          return socket.send(JSON.stringify({ id, type: 'complete' }));
        });
      });
      await page.route(/(graphql|session)$/, (route) =>
        isDown && (route.request().method() === 'GET' || route.request().postData()?.includes('CalendarTroubles'))
          ? route.fulfill({ status: 503, headers: { 'Retry-After': '1' }, contentType: 'application/json', body: '{}' })
          : route.fallback(),
      );
      // Who is signed in is known.
      await admin.open('?screen=use');
      await page.getByRole('heading', { name: 'Use', exact: true }).waitFor();
      isDown = true;
      await admin.tabTo('Mail');
      await page.keyboard.press('Enter');
      await page.getByText('This could not be loaded.').waitFor();
      await isSound(admin);
      isDown = false;
      await page.getByRole('row').filter({ hasText: 'Bibliothek' }).waitFor();
      // Of what a calendar's form asks besides.
      isDown = true;
      await admin.tabTo('Aula');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').locator('.refused').waitFor();
      await isSound(admin);
      isDown = false;
      await page.getByRole('dialog').getByText('Elternabend').waitFor();
    });

    test('by keys alone: a calendar and its conflicts are opened, and one is read now, whose time of reading follows', async () => {
      const { page } = admin;
      await admin.open('?screen=mail');
      const row = page.getByRole('row').filter({ hasText: 'Bibliothek' });
      await row.waitFor();
      await admin.tabTo('Aula');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Elternabend').waitFor();
      await admin.tabTo('Open the booking');
      await page.keyboard.press('Enter');
      await dialog.getByText('Elternabend').waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await admin.tabTo('Mail');
      await page.keyboard.press('Enter');
      await row.waitFor();
      await admin.tabTo('Aula');
      await page.keyboard.press('Enter');
      await dialog.getByText('Elternabend').waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Aula');
      await admin.tabTo('Read now: Bibliothek');
      await page.keyboard.press('Enter');
      await isTold('The calendar of Bibliothek is being read.');
      await sql`update mail_calendar set fault = null, fault_text = null, read_at = now(), dirty_since = null, dirty_by = null
        where fault = 'AccessLost'`.execute(db());
      await row.getByText('well').waitFor();
      await isSound(admin);
    });

    test('a booking that is missing in a calendar is listed with the reason, and needs attention', async () => {
      const { page } = admin;
      const { mandatorId } = service.tenant;
      const start = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 72 * 3_600_000);
      const { body } = await api.post('/bookings', {
        ResourceId: roomId(1),
        Subject: 'Konferenz',
        Start: start.toISOString(),
        End: new Date(start.getTime() + 3_600_000).toISOString(),
      });
      const { id: calendarId } = await db()
        .selectFrom('mail_calendar')
        .select('id')
        .where('resource_id', '=', roomId(1))
        .executeTakeFirstOrThrow();
      await makeUnwritten(db(), { mandatorId, calendarId }, start, [Number(body['Id'])]);
      await admin.open('?screen=mail');
      await page.getByRole('button', { name: 'Bibliothek', exact: true }).click();
      const sides = page.getByRole('dialog').getByRole('listitem');
      await sides.getByText('Konferenz').waitFor();
      await sides.getByText('Somebody changes or deletes the item there again and again').waitFor();
      await isSound(admin);
      await sides.getByRole('link', { name: 'Open the booking' }).click();
      await page.getByRole('dialog').getByText('Konferenz').waitFor();
      await admin.open('?screen=activity');
      await page.getByText('1 booking is not in the calendar of Bibliothek as booked.').waitFor();
      await sql`update mail_calendar set writing_fault = 'It may not be written.' where id = ${calendarId}`.execute(
        db(),
      );
      await admin.open('?screen=activity');
      await page.getByText('The calendar of Bibliothek cannot be written: It may not be written.').waitFor();
      await isSound(admin);
    });
  });

  describe('webhooks', () => {
    const press = (name: string | RegExp) => admin.page.getByRole('button', { name }).press('Enter');
    const dialog = () => admin.page.getByRole('dialog');
    const shownSecret = async () => {
      const secret = await dialog().getByLabel('Secret').inputValue();
      await isSound(admin);
      await dialog().getByRole('button', { name: 'Done' }).press('Enter');
      await dialog().waitFor({ state: 'detached' });
      return secret;
    };
    const stored = async () => ((await api.get('/webhooks')).body['Items'] as Record<string, unknown>[])[0];
    let secret: string;

    test('one is made by keys alone; its secret is shown once', async () => {
      const { page } = admin;
      await sql`delete from webhook`.execute(db());
      await admin.open('?screen=webhooks');
      await page.getByText('No program is notified yet').waitFor();
      await isSound(admin);
      await admin.tabTo('New webhook …');
      await page.keyboard.press('Enter');
      await dialog().locator('input:focus').waitFor();
      await page.keyboard.type('Board');
      await admin.tabTo('Address');
      await page.keyboard.type('https://10.1.2.3/hook');
      await admin.tabTo('Create');
      await page.keyboard.press('Enter');
      // At the fields: none of the kinds is chosen.
      await dialog().locator('fieldset .fault').getByText('must name one kind at least').waitFor();
      await isSound(admin);
      await dialog().getByLabel('Address').fill(`${receiver.origin}/hook`);
      await dialog().getByLabel('Booking made').press('Space');
      await dialog().getByLabel('Import ended').press('Space');
      await dialog().getByRole('button', { name: 'Create' }).press('Enter');
      secret = await shownSecret();
      expect(secret).toMatch(/^whsec_/);
      expect(await page.locator('tbody tr').innerText()).toMatch(
        /^Board\s.*\/hook\s+Booking made, Import ended\s+nothing sent yet\s+0\s+never$/,
      );
      expect((await page.content()).includes(secret)).toBe(false);
      expect(await stored()).toMatchObject({ Name: 'Board', Kinds: ['BookingCreated', 'BatchEnded'], Enabled: true });
    });

    test('is tested, and its deliveries show the answers', async () => {
      const { page } = admin;
      await press('Board');
      await page.getByText('Nothing was sent in this selection.').waitFor();
      await press('Send a test');
      await page
        .locator('.toast')
        .getByText(/^Accepted with 204, after \d+ ms\.$/)
        .waitFor();
      expect(verified(secret, receiver.messages()[0]!)).toMatchObject({ type: 'webhook.test' });
      receiver.answer(answering(500));
      await press('Send a test');
      await isTold('The test message was not accepted: the receiver answers 500');
      const rows = page.getByRole('region', { name: 'Deliveries' }).locator('tbody tr');
      await rows.nth(1).waitFor();
      expect(await rows.allInnerTexts()).toEqual([
        expect.stringMatching(/\sTest\s+1\s+500: the receiver answers 500\s+\d+/),
        expect.stringMatching(/\sTest\s+1\s+204\s+\d+/),
      ]);
      await isSound(admin);
      await page.getByLabel('only failed ones').check();
      await rows.nth(1).waitFor({ state: 'detached' });
      expect(page.url()).toContain('failed=yes');
      await page.getByLabel('only failed ones').uncheck();
    });

    test('gets another secret, is disabled and enabled again, and is sent to again from a delivery', async () => {
      const { page } = admin;
      await press('New secret …');
      await dialog().getByLabel('The previous one is valid').selectOption('0');
      await isSound(admin);
      await dialog().getByRole('button', { name: 'New secret' }).press('Enter');
      expect(await shownSecret()).not.toBe(secret);
      await press('Disable');
      await page.getByText(/^disabled since/).waitFor();
      expect(await stored()).toMatchObject({ Enabled: false, DisabledBecause: 'Admin', FormerSecretUntil: null });
      await press('Enable');
      await page.getByText('nothing sent yet').waitFor();
      // A delivery of an event.
      const { body } = await api.get('/changes?Cursor=now');
      await sql`insert into webhook_delivery (mandator_id, webhook_id, position, micros, message_id, kind, subject, attempt, at, milliseconds, status)
        select webhook.mandator_id, webhook.id, seen_position, seen_micros, 'evt', 'BookingCreated', 'Booking 7', 1, now(), 12, 204
        from webhook`.execute(db());
      await press('Refresh');
      await press(/^Send again what comes after Booking made, /);
      expect(await dialog().getByLabel('Cursor').inputValue()).toBe((await stored())?.['Cursor']);
      await isSound(admin);
      await dialog().getByLabel('Cursor').fill('nowhere');
      await dialog().getByRole('button', { name: 'Send' }).press('Enter');
      await dialog().getByRole('alert').or(dialog().locator('.fault')).first().waitFor();
      await dialog().getByLabel('From where').selectOption('now');
      await dialog().getByRole('button', { name: 'Send' }).press('Enter');
      await isTold('Board: events are sent from there on.');
      expect((await stored())?.['Cursor']).toBe(body['NextCursor']);
    });

    test('is changed, and deleted unless that is undone', async () => {
      const { page } = admin;
      await press('Change …');
      await dialog().getByLabel('Name').fill('Tafel');
      await dialog().getByRole('button', { name: 'Save' }).press('Enter');
      await page.getByRole('heading', { name: 'Tafel' }).waitFor();
      expect(await stored()).toMatchObject({ Name: 'Tafel', Kinds: ['BookingCreated', 'BatchEnded'] });
      await press('Delete');
      await page.getByText('No program is notified yet').waitFor();
      await page.locator('.toast').last().getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('button', { name: 'Tafel' }).press('Enter');
      await press('Delete');
      await page.locator('.toast').getByRole('button', { name: 'Do it now' }).click();
      await isTold('Tafel is deleted.');
      expect(await stored()).toBeUndefined();
    });

    test('whoever has changed one and then used it is said to have changed it', async () => {
      const made = { Name: 'Board', Url: `${receiver.origin}/one`, Kinds: ['BookingCreated'] };
      const { body } = await api.post('/webhooks', made);
      const Id = body['Id'];
      await admin.open('?screen=webhooks');
      await press('Board');
      await press('Change …');
      await dialog().getByLabel('Name').fill('Blackboard');
      await api.patch(`/webhooks/${Id}`, { Url: `${receiver.origin}/two` });
      const tested = await api.send('POST', `/webhooks/${Id}/test`);
      const replayed = await api.post(`/webhooks/${Id}/replay`, { Cursor: 'now' }, { 'If-Match': '*' });
      expect([tested.status, replayed.status]).toEqual([200, 200]);
      await dialog().getByRole('button', { name: 'Save' }).press('Enter');
      const alert = dialog().getByRole('alert').filter({ hasText: 'Admin of school has changed this' });
      await alert.waitFor();
      // The audit keeps no addresses.
      expect(await alert.locator('li').allInnerTexts()).toEqual(['Address']);
      await isSound(admin);
    });
  });

  describe('use', () => {
    const dayAt = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    // Whatever the zones, today is within.
    const address = () => `?screen=use&from=${dayAt(-1)}&to=${dayAt(1)}`;

    test('by keys alone a period, a location and rooms are chosen; none that fits is said', async () => {
      const { page } = admin;
      await admin.open('?screen=use&from=2026-03-10&to=2026-03-20');
      await page.getByRole('img', { name: 'Occupancy by weekday and hour' }).waitFor();
      await page.getByLabel('Location').getByRole('option').nth(1).waitFor({ state: 'attached' });
      await admin.tabTo('from');
      await page.keyboard.press('ArrowDown');
      await admin.tabTo('Location');
      await page.keyboard.press('ArrowDown');
      await admin.tabTo('Find rooms');
      await page.keyboard.type('nowhere');
      await page.getByText('No room matches.').waitFor();
      const { searchParams } = new URL(page.url());
      expect(['from', 'location', 'find'].map((name) => searchParams.get(name))).toEqual([
        ...['2026-02-10', expect.stringMatching(/./), 'nowhere'],
      ]);
      await isSound(admin);
    });

    test('draws occupancy by hour, room and week, and no-shows, each with its table and CSV', async () => {
      const { page } = admin;
      await admin.open(address());
      const heat = page.getByRole('img', { name: 'Occupancy by weekday and hour' });
      await heat.waitFor();
      const numbers = await heat.locator('g text').allTextContents();
      expect([numbers.length, numbers.some((text) => Number(text) > 0)]).toEqual([7 * 24, true]);
      await page.getByRole('img', { name: 'No-shows by week' }).waitFor();
      const room = page.getByRole('region', { name: 'As a table: Occupancy by room' });
      await page.locator('summary').nth(1).focus();
      await page.keyboard.press('Enter');
      expect(await room.getByRole('row', { name: 'Bibliothek' }).innerText()).toMatch(
        /^Bibliothek\s+\d+\s+\d+\s+61\s+0\s/,
      );
      await isSound(admin);
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        admin.tabTo('As CSV: Occupancy by room').then(() => page.keyboard.press('Enter')),
      ]);
      const text = fs.readFileSync(await file.path(), 'utf8');
      expect(text).toMatch(/^\ufeffRoom;Occupancy %;minutes open;.*\r\nAula;0;\d+;.*\r\nBibliothek;1;\d+;61;/s);
    });
  });
});
