/** The words of the audit: every act, member and choice that it can hold has words for people, in both languages. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { auditActions, type auditSubjects } from '../../../src/acts.ts';
import { displayChanges } from '../../../src/displays/device-wire.ts';
import { privacyLevels } from '../../../src/displays/display.ts';
import { auditedMembers as calendarMembers } from '../../../src/holidays/stored.ts';
import { pinRecord } from '../../../src/identity/wire.ts';
import { problemKinds, problemStates } from '../../../src/problems/stored.ts';
import { calendarEdits, calendarWriting, role } from '../../../src/tenants/fields.ts';
import { groupChanges, newPolicy } from '../../../src/tenants/rights-wire.ts';
import { tenantChanges, tenantParameters } from '../../../src/tenants/tenant-wire.ts';
import { locationChanges, personChanges, resourceChanges } from '../../../src/tenants/wire.ts';
import { newProfile } from '../../../src/timetable-files/profile-wire.ts';
import { eventKinds } from '../../../src/webhooks/kinds.ts';
import { disabledReasons, auditedMembers as webhookMembers } from '../../../src/webhooks/stored.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

const keys = (...schemas: { shape: object }[]) => schemas.flatMap(({ shape }) => Object.keys(shape));
const hours = ['OpeningRules', 'OpeningExceptions'];

/** What the audit may record of each kind of record. */
const members: Record<(typeof auditSubjects)[number], string[]> = {
  Tenant: [...keys(tenantChanges, tenantParameters)].filter((member) => member !== 'Parameters'),
  Location: [...keys(locationChanges), ...hours],
  Resource: [...keys(resourceChanges), ...hours, ...['FutureBookings', 'MovedTo', 'Cancelled', 'Moved', 'Conflicts']],
  Person: keys(personChanges),
  Pin: keys(pinRecord),
  Display: [...keys(displayChanges)].map((member) => (member === 'ResourceIds' ? 'Resources' : member)),
  Group: keys(groupChanges),
  Policy: keys(newPolicy),
  Booking: [],
  HolidayCalendar: Object.keys(calendarMembers({} as never)),
  MailSubscription: [],
  RoomProblem: ['Kind', 'State'],
  Webhook: [...Object.keys(webhookMembers({ url: 'https://school.example' } as never)), 'Because'],
  TimetableProfile: keys(newProfile),
};
const choices: [subject: (typeof auditSubjects)[number], member: string, values: readonly string[]][] = [
  ['Resource', 'FutureBookings', ['Keep', 'Cancel', 'Move']],
  ['Resource', 'CalendarWriting', calendarWriting.options],
  ['Resource', 'CalendarEdits', calendarEdits.options],
  ['Person', 'Role', role.options],
  ['Display', 'Privacy', privacyLevels],
  ['RoomProblem', 'Kind', problemKinds],
  ['RoomProblem', 'State', problemStates],
  ['Webhook', 'Kinds', eventKinds],
  ['Webhook', 'Because', disabledReasons],
];

describeInBrowser('The words of the audit', () => {
  let service: Service;
  let browser: Browser;
  beforeAll(async () => {
    [service, browser] = await Promise.all([startService({}), launchBrowser()]);
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test('every act, member and choice has words in both languages', async () => {
    const { open, page, complaints, close } = await openConsole(browser, service);
    await open();
    await page.getByLabel('PIN').waitFor();
    const asked = {
      acts: Object.entries(auditActions).flatMap(([subject, actions]) =>
        actions.map((action) => ({ subject, action })),
      ),
      members: Object.entries(members).flatMap(([subject, names]) => names.map((member) => ({ subject, member }))),
      values: choices.flatMap(([subject, member, values]) => values.map((value) => ({ subject, member, value }))),
    };
    const found = await page.evaluate<Record<string, Record<'acts' | 'members' | 'values', string[]>>>(`(async () => {
      const folder = document.querySelector('script[type=module]').src.replace('start.ts', '');
      const [{ language }, wording] = await Promise.all(['look.ts', 'activity/wording.ts'].map((name) => import(folder + name)));
      const { acts, members, values } = ${JSON.stringify(asked)};
      const told = {};
      for (const each of ['de', 'en']) {
        language.value = each;
        told[each] = {
          acts: acts.map((act) => wording.actionText(act)),
          members: members.map(({ subject, member }) => wording.memberText(subject, member)),
          values: values.map(({ subject, member, value }) => wording.valueText(subject, member, value, new Map())),
        };
      }
      return told;
    })()`);
    // Words that are the same in German.
    const same = new Set(['Name', 'Importer', 'Admin', 'Format', 'Logo', 'Standort']);
    for (const language of ['de', 'en']) {
      const { acts, members: names, values } = found[language]!;
      const strip = (text: string | undefined) => text?.replace(/[\u2066-\u2069]/g, '');
      expect({
        language,
        acts: asked.acts.filter(({ action }, at) => strip(acts[at]) === action),
        members: asked.members.filter(({ member }, at) => strip(names[at]) === member && !englishToo(language, member)),
        values: asked.values.filter(({ value }, at) => strip(values[at]) === value && !englishToo(language, value)),
      }).toEqual({ language, acts: [], members: [], values: [] });
    }
    function englishToo(language: string, word: string): boolean {
      return same.has(word) || (language === 'en' && /^[A-Z][a-z]+$/.test(word));
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('of a long list of exceptions what differs is told in words', async () => {
    const { tenant, url } = service;
    const token = await service.signIn(tenant, 'Admin');
    const put = async (days: number) => {
      const items = Array.from({ length: days }, (_, index) => {
        const date = `2031-01-${String(index + 1).padStart(2, '0')}`;
        return { FromDate: date, ToDate: date, Closed: true, Periods: [], Reason: `Day ${index + 1}` };
      });
      const answer = await fetch(
        `${url}/${tenant.code}/api/v1.0/opening-hours/locations/${tenant.locationId}/exceptions`,
        {
          method: 'PUT',
          headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': '*' },
          body: JSON.stringify({ Items: items }),
        },
      );
      expect(answer.status).toBe(200);
    };
    await put(27);
    await put(28);
    const { open, signIn, page, complaints, close } = await openConsole(browser, service);
    await open('?screen=activity');
    await signIn();
    await page.locator('ins', { hasText: /^[^;]*28[^;]* closed \(Day 28\); …$/ }).waitFor();
    await page.locator('ins', { hasText: /^[^;]* closed \(Day 1\); .*; …$/ }).waitFor();
    expect(await page.getByText('fromDate').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('profiles, and values that an earlier release has cut anywhere, are told in words', async () => {
    const { tenant, url, context } = service;
    const token = await service.signIn(tenant, 'Admin');
    const answer = await fetch(`${url}/${tenant.code}/api/v1.0/timetable-profiles`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        Name: 'AGs',
        Format: 'Csv',
        Term: {
          Name: '2627-2',
          From: '2027-02-01',
          To: '2027-06-30',
          Holidays: [{ Name: 'Ostern', From: '2027-03-26', To: '2027-03-29' }],
          Weeks: [{ Monday: '2027-03-15', Name: 'A' }],
          Groups: [{ Name: 'WA', Weeks: ['A'] }],
        },
        Periods: [
          { Period: 1, Begin: '08:00', End: '08:45' },
          { Day: 5, Period: 1, Begin: '08:00', End: '08:40' },
        ],
        Rooms: [
          { Name: 'Turnh.1', RessourceName: 'Turnhalle 1' },
          { Name: 'Hof', RessourceName: null },
        ],
        SharedRooms: ['Turnhalle 1'],
        Mapping: { Date: 'Tag', Weeks: null },
      }),
    });
    expect(answer.status).toBe(201);
    const rules = JSON.stringify([
      { weekdays: [1, 2], opens: '08:00', closes: '18:00', validFrom: null, validTo: null },
      { weekdays: [3], opens: '09:00', closes: '12:00', validFrom: null, validTo: null },
    ]);
    const term = '{"Name":"Alt","From":"2020-02-01","To":"2020-06-30","Holidays":[{"Name":"Pfing';
    const act = { mandator_id: tenant.mandatorId, request_id: 'old', subject_id: 1, subject_name: 'Alt' };
    const cut = (member: string, from: string, to: string) =>
      JSON.stringify([{ member, from: `${from}…`, to: `${to}…` }]);
    await context.db
      .insertInto('audit')
      .values([
        {
          ...act,
          action: 'replace opening rules',
          subject: 'Location',
          changes: cut('OpeningRules', rules.slice(0, -8), rules.slice(0, 40)),
        },
        {
          ...act,
          action: 'change timetable profile',
          subject: 'TimetableProfile',
          changes: cut('Term', term, '{"Name":"Ne'),
        },
      ])
      .execute();
    const { open, signIn, page, complaints, close } = await openConsole(browser, service, { language: 'de' });
    await open('?screen=activity');
    await signIn();
    const values = async (name: string) => {
      const row = page.getByRole('row', { name });
      await row.first().waitFor();
      return (await row.first().locator('ins, del').allInnerTexts()).toSorted();
    };
    expect(await values('Profil für Stundenplandateien anlegen')).toEqual([
      '1. 08:00–08:45; Freitag 1. 08:00–08:40',
      '2627-2; Mo., 1.2.2027 – Mi., 30.6.2027; Freie Tage: Ostern Fr., 26.3.2027 – Mo., 29.3.2027; Namen der Wochen: Mo., 15.3.2027 A; Gruppen von Wochen: WA = A',
      'AGs',
      'CSV',
      'Datum = Tag; Wochen = (keine)',
      'Turnh.1 = Turnhalle 1; Hof = (wird ausgelassen)',
      'Turnhalle 1',
    ]);
    expect(await values('Wochenzeiten ersetzen')).toEqual([
      'Montag, Dienstag 08:00–18:00; …',
      'zu lang für das Protokoll',
    ]);
    expect(await values('Profil für Stundenplandateien ändern')).toEqual([
      'Alt; Sa., 1.2.2020 – Di., 30.6.2020; …',
      'zu lang für das Protokoll',
    ]);
    expect(complaints).toEqual([]);
    await close();
  });
});
