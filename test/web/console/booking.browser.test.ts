/** The form of a booking, and what the timeline shows of bookings, as people meet them who know neither. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Route } from 'playwright-core';
import { addDays } from '../../../src/time/days.ts';
import { type Service, startService } from '../../_util/service.ts';
import { launchBrowser } from '../_util/browser.ts';
import { openConsole } from '../_util/consoles.ts';
import { describeInBrowser } from '../_util/in-browser.ts';

type Opened = Awaited<ReturnType<typeof openConsole>>;

const tenth = `${new Date().getUTCFullYear() + 1}-02-10`;
/** A Wednesday. */
const day = addDays(tenth, (10 - new Date(tenth).getUTCDay()) % 7);

describeInBrowser('Booking in the console', () => {
  let service: Service;
  let browser: Browser;
  let mine: Opened;
  let send: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

  const cell = (name: RegExp) => mine.page.getByRole('gridcell', { name });
  const form = () => mine.page.getByRole('dialog', { name: 'Raum buchen' });
  /** @param hours in UTC; Berlin is an hour ahead */
  const booking = (room: number, hours: [string, string], subject: string, on = day) =>
    send('POST', 'bookings', {
      ResourceId: service.tenant.resources[room]?.id,
      Start: `${on}T${hours[0]}:00Z`,
      End: `${on}T${hours[1]}:00Z`,
      Subject: subject,
    });
  async function fill(texts: Record<string, string>): Promise<void> {
    for (const [label, text] of Object.entries(texts)) await form().getByLabel(label, { exact: true }).fill(text);
  }
  const openForm = () => mine.page.getByRole('button', { name: /^Buchen …/ }).click();
  const press = () => form().getByRole('button', { name: 'Buchen', exact: true }).click();
  const said = (text: RegExp) => mine.page.locator('.toast', { hasText: text }).first().waitFor();
  /** By how many pixels the open dialog is too narrow for what it shows. */
  const excess = () =>
    mine.page.evaluate<number>(
      "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog[open]'))",
    );
  async function seen(state: string): Promise<void> {
    expect({ state, violations: await mine.violations(), complaints: mine.complaints }).toEqual({
      state,
      violations: [],
      complaints: [],
    });
  }

  beforeAll(async () => {
    const rooms = ['R101', 'R102', 'R103', 'R104'];
    [service, browser] = await Promise.all([startService({}, rooms), launchBrowser()]);
    const { mandatorId: mandator_id, locationId: location_id } = service.tenant;
    await service.context.db
      .insertInto('opening_rule')
      .values({ mandator_id, location_id, weekdays: [1, 2, 3, 4, 5, 6, 7], opens: '07:00', closes: '20:00' })
      .execute();
    const token = await service.signIn(service.tenant, 'Admin');
    send = async (method, path, body) => {
      const answer = await fetch(`${service.url}/${service.tenant.code}/api/v1.0/${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': '*' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text ? (JSON.parse(text) as Record<string, unknown>) : {};
    };
    mine = await openConsole(browser, service, { role: 'User', language: 'de', zone: 'America/New_York' });
    await mine.open(`?screen=rooms&day=${day}`);
    await mine.signIn();
    await cell(/^frei 07:00–20:00/)
      .first()
      .waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  test('a single booking is made on any later day, however far it is from the one that was shown', async () => {
    await openForm();
    await fill({ Titel: 'Abitur', Datum: addDays(day, 60), Von: '09:00', Bis: '10:00' });
    await press();
    await said(/^Gebucht: R101, .*09:00–10:00/);
    await form().waitFor({ state: 'detached' });
  });

  test('a conflict of a single booking offers other times and no dates to leave out', async () => {
    await booking(0, ['09:00', '10:00'], 'Konferenz');
    await openForm();
    await fill({ Titel: 'Doppelt', Von: '10:30', Bis: '11:30' });
    await press();
    await form().getByText('Der Raum ist in dieser Zeit belegt.').waitFor();
    await form().getByText('Im Weg ist:').waitFor();
    await form()
      .getByRole('button', { name: /nehmen$/ })
      .first()
      .waitFor();
    expect(
      await form()
        .getByRole('button', { name: /auslassen/ })
        .count(),
    ).toBe(0);
    await seen('a conflict');
    await form().getByRole('button', { name: 'Schließen' }).first().click();
    await form().waitFor({ state: 'detached' });
  });

  test('an end that is not after the start is told at its field, to which a press of the button leads', async () => {
    await openForm();
    await fill({ Titel: 'Rückwärts', Von: '10:00', Bis: '10:00' });
    await press();
    const end = form().getByLabel('Bis', { exact: true });
    await end.and(mine.page.locator(':focus')).waitFor();
    expect(await form().locator('.wrong').innerText()).toContain('Geben Sie ein späteres Ende an');
    await seen('an end that is not after the start');
    await end.fill('11:00');
    await form().locator('.wrong').waitFor({ state: 'detached' });
    await mine.page.keyboard.press('Escape');
    await form().waitFor({ state: 'detached' });
  });

  test('a refused booking in the past is told in the language of the page', async () => {
    await openForm();
    await fill({ Titel: 'Vorbei', Datum: addDays(day, -800), Von: '09:00', Bis: '10:00' });
    await press();
    await form().getByText('Diese Zeit ist schon vorbei.').waitFor();
    await form().getByRole('button', { name: 'Schließen' }).first().click();
  });

  test('a limit of a policy is told in the language of the page, with how much is allowed', async () => {
    const { Id } = await send('POST', 'policies', { Name: 'Kurz', LongestMinutes: 60 });
    const room = `resources/${service.tenant.resources[2]?.id}`;
    await send('PATCH', room, { PolicyId: Id });
    await openForm();
    await fill({ Titel: 'Lang', Von: '09:00', Bis: '12:00' });
    await form().getByLabel('Raum').selectOption({ label: 'R103 · Campus' });
    await press();
    await form()
      .getByText(
        'So lange darf dieser Raum nicht gebucht werden. Möglich sind höchstens 1 Stunde. So will es die Regel „Kurz“.',
        { exact: true },
      )
      .waitFor();
    await send('PATCH', `policies/${Id}`, { LongestMinutes: null, LeadMinutes: 525_600 });
    // In the zone of the room, not in that of the browser: of the hour, the minutes may differ.
    const hours = [0, 10].map((minutes) =>
      new Date(Date.now() + (525_600 + minutes) * 60_000).toLocaleTimeString('de', {
        timeZone: 'Europe/Berlin',
        hour: '2-digit',
      }),
    );
    await press();
    await form()
      .getByText(
        new RegExp(
          `^So kurzfristig darf dieser Raum nicht gebucht werden\\. Gebucht wird mindestens 365 Tage vorher: frühestens .*\\.\\d{4}, (${hours.map((hour) => hour.slice(0, 2)).join('|')}):\\d\\d\\. So will es die Regel „Kurz“\\.$`,
        ),
      )
      .waitFor();
    await form().getByRole('button', { name: 'Schließen' }).first().click();
    await send('PATCH', room, { PolicyId: null });
  });

  test('each limit is told with its reason and its figures, in both languages', async () => {
    const start = '2027-03-04T09:00:00Z';
    const limits = [
      { code: 'TooSoon', limit: { policy: 'Short' } },
      { code: 'TooFarAhead', limit: { days: 14, start, bookableFrom: '2027-02-18' } },
      { code: 'QuotaReached', limit: { minutes: 180, week: '2027-03-01', nextWeek: '2027-03-08' } },
    ];
    const told = await mine.page.evaluate<Record<'de' | 'en', string[]>>(`(async () => {
      const folder = document.querySelector('script[type=module]').src.replace('start.ts', '');
      const [{ language }, { sayFault }] = await Promise.all(['look.ts', 'parts/refused.ts'].map((name) => import(folder + name)));
      const chosen = language.value;
      const told = {};
      for (const each of ['de', 'en']) {
        language.value = each;
        told[each] = ${JSON.stringify(limits)}.map((fault) => sayFault({ field: 'start', message: '', ...fault }, 'Europe/Berlin'));
      }
      language.value = chosen;
      return told;
    })()`);
    expect(told.de).toEqual([
      expect.stringContaining('muss genehmigt werden, bevor sie beginnt. So will es die Regel „Short“.'),
      expect.stringMatching(/höchstens 14 Tage im Voraus: der Termin am \D*0?4\..*2027 ab \D*18\..*2027\.$/),
      expect.stringMatching(/würde überschritten\. Möglich sind höchstens 3 Stunden in der Woche/),
    ]);
    expect(told.en).toEqual([
      expect.stringContaining('must be approved before it begins. The policy “Short” says so.'),
      expect.stringMatching(/at most 14 days ahead: the one of .*4.*2027 from .*18.*2027 on\.$/),
      expect.stringMatching(/would be exceeded\. At most 3 hours are possible in the week/),
    ]);
  });

  test('an alternative for a series is taken without the dates that were to be left out', async () => {
    const on = addDays(day, 14);
    const closed = addDays(on, 14);
    const exceptions = `opening-hours/locations/${service.tenant.locationId}/exceptions`;
    await send('PUT', exceptions, { Items: [{ FromDate: closed, ToDate: closed, Closed: true }] });
    for (const weeks of [0, 7]) await booking(0, ['09:00', '10:00'], 'Im Weg', addDays(on, weeks));
    await mine.open(`?screen=rooms&day=${on}`);
    await openForm();
    await fill({ Titel: 'Serie', Von: '10:00', Bis: '11:00' });
    await form().getByLabel('Wiederholen').selectOption('jede Woche');
    await fill({ 'Letzter Tag der Serie': closed });
    await press();
    await form().getByRole('button', { name: 'Auslassen, was geschlossen oder belegt ist' }).click();
    await form().getByText('Im Weg ist:').waitFor();
    await form()
      .getByRole('button', { name: /^R10\d, .* 10:00–11:00 nehmen$/ })
      .first()
      .click();
    await said(/^2 Termine gebucht, 1 ausgelassen/);
    await form().waitFor({ state: 'detached' });
    await send('PUT', exceptions, { Items: [] });
    await mine.open(`?screen=rooms&day=${day}`);
  });

  test('a refused move says why in its message', async () => {
    await openForm();
    await fill({ Titel: 'Spät', Datum: day, Von: '18:45', Bis: '19:45' });
    await press();
    const confirmed = mine.page.locator(':not(.pending)');
    await cell(/^Spät 18:45–19:45/)
      .and(confirmed)
      .waitFor();
    // The page may hear of the booking before the form has its answer, and nothing below a form takes the focus.
    await form().waitFor({ state: 'detached' });
    await cell(/^Spät 18:45–19:45/).focus();
    await mine.pressAtOnce('Shift+ArrowRight', 'Shift+ArrowRight');
    await said(/^Der Raum ist in dieser Zeit nicht geöffnet\./);
    await cell(/^Spät 18:45–19:45/).waitFor();
    await seen('a refused move');
  });

  test('a form stays as wide as its dialog, however long the names of rooms are', async () => {
    const name =
      'Bibliothek und Lesesaal der Oberstufe mit Nachschlagewerken und Ruhezone im zweiten Obergeschoss links';
    await send('PATCH', `resources/${service.tenant.resources[3]?.id}`, { Name: name });
    await mine.open(`?screen=rooms&day=${day}`);
    await openForm();
    await form().getByLabel('Titel').waitFor();
    expect(await excess()).toBe(0);
    await form().getByRole('button', { name: 'Schließen' }).first().click();
  });

  test('the details of a booking and what is in the way fit their dialogs, however long a word is', async () => {
    const word = 'Donaudampfschifffahrtsgesellschaftskapitänswitwenversammlung'.repeat(3);
    const on = addDays(day, 22);
    const { Id } = await booking(1, ['09:00', '10:00'], word, on);
    await mine.open(`?screen=rooms&day=${on}&booking=booking_${Id}`);
    await mine.page.getByRole('heading', { name: word }).waitFor();
    expect(await excess()).toBe(0);
    const { Name } = await send('GET', `resources/${service.tenant.resources[2]?.id}`);
    await send('PATCH', `resources/${service.tenant.resources[2]?.id}`, { Name: word.slice(0, 100) });
    await mine.open(`?screen=rooms&day=${on}`);
    await openForm();
    await fill({ Titel: 'Kurz', Von: '10:00', Bis: '11:00' });
    await form().getByLabel('Raum').selectOption({ label: 'R102 · Campus' });
    await press();
    await form().getByText(word).waitFor();
    await form()
      .getByRole('button', { name: word.slice(0, 100) })
      .first()
      .waitFor();
    expect(await excess()).toBe(0);
    await form().getByRole('button', { name: 'Schließen' }).first().click();
    await send('PATCH', `resources/${service.tenant.resources[2]?.id}`, { Name });
    await mine.open(`?screen=rooms&day=${day}`);
  });

  test('what is booked while a room is closed is seen on its day, at once', async () => {
    const next = addDays(day, 1);
    await booking(1, ['04:00', '05:00'], 'Reinigung', next);
    await mine.open(`?screen=rooms&day=${next}`);
    await cell(/^Reinigung 05:00–06:00/).waitFor();
    await booking(1, ['21:00', '23:00'], 'Ball', next);
    await cell(/^Ball 22:00–00:00/).waitFor();
    const hours = mine.page.getByRole('columnheader').last();
    expect([await hours.getByText('05:00').count(), await hours.getByText('23:00').count()]).toEqual([1, 1]);
    await mine.page.getByRole('button', { name: 'Weiter' }).click();
    await cell(/^frei 07:00–20:00/)
      .first()
      .waitFor();
    await hours.getByText('23:00').waitFor({ state: 'detached' });
    await seen('the usual hours');
  });

  test('what begins or ends while a room is closed is seen from its beginning to its end, unless it lasts for days', async () => {
    const next = addDays(day, 4);
    await booking(1, ['05:00', '07:00'], 'Lieferung', next);
    await booking(1, ['18:30', '20:30'], 'Elternabend', next);
    await send('POST', 'bookings', {
      ResourceId: service.tenant.resources[2]?.id,
      Start: `${addDays(next, -1)}T10:00:00Z`,
      End: `${next}T21:30:00Z`,
      Subject: 'Umbau',
      Kind: 'Block',
    });
    await mine.open(`?screen=rooms&day=${next}`);
    await cell(/^Elternabend 19:30–21:30/).waitFor();
    await cell(/^Umbau/).waitFor();
    const hours = mine.page.getByRole('columnheader').last().locator('span');
    expect([await hours.first().textContent(), await hours.last().textContent()]).toEqual(['06:00', '21:00']);
  });

  test('a change is counted in the hours of its room alone', async () => {
    const calls = `Promise.all(['rooms/shown-hours.ts', '../../packages/@preact/signals/dist/signals.module.js'].map(
      (file) => import(new URL(file, document.querySelector('script[src]').src)),
    )).then(([{ makeShownHours }, { signal, effect }]) => {
      const [rooms, lists, read, said] = [[], {}, [], []];
      for (const id of ['1', '2', '3']) {
        rooms.push({ id, timeZone: 'UTC' });
        lists[id] = signal([]);
      }
      const ofRoom = (id) => ({ get value() { return read.push(id), lists[id].value; } });
      const store = { day: '2026-05-04', days: 1, ofRoom, hoursOf: () => ({ value: undefined }) };
      const { from, to } = makeShownHours(rooms, rooms.slice(0, 2), store);
      effect(() => void said.push([from.value / 60, to.value / 60]));
      const booked = (from, to) => ({ timeZone: 'UTC', start: '2026-05-04T' + from + ':00Z', end: '2026-05-04T' + to + ':00Z' });
      lists[3].value = [booked('01:00', '02:00')];
      lists[2].value = [booked('05:30', '06:00'), booked('21:00', '21:30')];
      lists[1].value = [booked('04:30', '05:00')];
      lists[2].value = [];
      return { read: read.join(' '), said };
    })`;
    expect(await mine.page.evaluate(calls)).toEqual({
      read: '1 2 2 1 2',
      said: [
        [7, 20],
        [5, 22],
        [4, 22],
        [4, 20],
      ],
    });
  });

  test('a room is drawn once for many of its bookings that change together', async () => {
    const calls = `Promise.all(['rooms/store.ts', '../../packages/@preact/signals/dist/signals.module.js'].map(
      (file) => import(new URL(file, document.querySelector('script[src]').src)),
    )).then(async ([{ openStore }, { effect }]) => {
      const store = openStore('2026-05-04', 1, ['UTC']);
      const of = (id) => ({ id, resourceId: '1', version: 1, status: 'Confirmed', start: '2026-05-04T08:00:00Z', end: '2026-05-04T09:00:00Z' });
      for (const id of ['a', 'b', 'c']) store.put(of(id));
      const drawn = [];
      effect(() => void drawn.push(store.ofRoom('1').value.length));
      store.leave(['a', 'b', 'c'], 'cancel');
      await store.attempt(of('a'), async () => ({ done: of('a') }), (done) => done);
      store.close();
      return drawn;
    })`;
    expect(await mine.page.evaluate(calls)).toEqual([3, 3, 3, 3]);
  });

  test('the hours stay as they are while something is dragged', async () => {
    const next = addDays(day, 2);
    await send('PATCH', `resources/${service.tenant.resources[3]?.id}`, { Name: 'R104' });
    await mine.open(`?screen=rooms&day=${next}`);
    await cell(/^frei 07:00–20:00/)
      .first()
      .waitFor();
    await mine.page.locator('[role=grid][aria-busy=false]').waitFor();
    const box = await mine.page.locator('[data-row="2"] .track').boundingBox();
    if (!box) throw new Error('There is no row.');
    const moveTo = (hour: number) =>
      mine.page.mouse.move(box.x + (box.width * (hour - 7)) / 13, box.y + 20, { steps: 3 });
    await moveTo(10.1);
    await mine.page.mouse.down();
    await moveTo(11);
    await booking(1, ['04:00', '05:00'], 'Frühstück', next);
    await booking(1, ['07:00', '08:00'], 'Danach', next);
    await cell(/^Danach 08:00–09:00/).waitFor();
    await moveTo(11.4);
    await mine.page.mouse.up();
    await cell(/^Frühstück 05:00–06:00/).waitFor();
    expect([await form().getByLabel('Von').inputValue(), await form().getByLabel('Bis').inputValue()]).toEqual([
      '10:00',
      '11:30',
    ]);
    await form().getByRole('button', { name: 'Schließen' }).first().click();
  });

  test('of a room that is always open the usual hours are shown, even if others open for an hour', async () => {
    const { db } = service.context;
    const mandator_id = service.tenant.mandatorId;
    const elsewhere = { mandator_id, name: 'Immer offen', time_zone: 'Europe/Berlin' };
    const { id } = await db.insertInto('location').values(elsewhere).returning('id').executeTakeFirstOrThrow();
    await db.insertInto('resource').values({ mandator_id, location_id: id, name: 'Keller', equipment: [] }).execute();
    const late = addDays(day, 3);
    const exception = {
      from_date: late,
      to_date: late,
      closed: false,
      periods: JSON.stringify([{ opens: '21:00', closes: '22:00' }]),
    };
    await db
      .insertInto('opening_exception')
      .values({ mandator_id, location_id: service.tenant.locationId, ...exception })
      .execute();
    await mine.open(`?screen=rooms&day=${late}`);
    await cell(/^frei 07:00–22:00/).waitFor();
  });

  test('an open booking shows at once what others do with it', async () => {
    const { Id } = await booking(2, ['08:00', '09:00'], 'Elternabend');
    await mine.open(`?screen=rooms&day=${day}`);
    await cell(/^Elternabend 09:00–10:00/).click();
    const details = mine.page.getByRole('dialog', { name: 'Elternabend' });
    await details.getByText(/, 09:00–10:00/).waitFor();
    await send('PATCH', `bookings/${Id}`, { Start: `${day}T10:00:00Z`, End: `${day}T11:00:00Z` });
    await details.getByText(/, 11:00–12:00/).waitFor();
    await send('DELETE', `bookings/${Id}`);
    await details.getByText('Buchung, abgesagt').waitFor();
    await seen('a booking that was cancelled');
  });

  test('what others do with a booking while it is edited stays, unless both change the same: then it is told', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await openForm();
    await fill({ Titel: 'Chorprobe', Datum: day, Von: '12:00', Bis: '13:00' });
    await press();
    await cell(/^Chorprobe 12:00–13:00/).click();
    const details = mine.page.getByRole('dialog', { name: 'Chorprobe' });
    await details.getByRole('button', { name: 'Ändern' }).click();
    const edit = mine.page.getByRole('dialog', { name: 'Buchung ändern' });
    const field = (label: string) => edit.getByLabel(label, { exact: true });
    const save = () => edit.getByRole('button', { name: 'Speichern' }).click();
    await field('Titel').fill('Konzertprobe');
    const id = new URL(mine.page.url()).searchParams.get('booking')?.replace('booking_', '');
    await send('PATCH', `bookings/${id}`, { Start: `${day}T12:00:00Z`, End: `${day}T13:00:00Z` });
    await cell(/^Chorprobe 13:00–14:00/).waitFor();
    await save();
    await said(/^Geändert: R101, .*13:00–14:00/);
    await cell(/^Konzertprobe 13:00–14:00/).click();
    await mine.page.getByRole('dialog', { name: 'Konzertprobe' }).getByRole('button', { name: 'Ändern' }).click();
    await field('Titel').fill('Generalprobe');
    await send('PATCH', `bookings/${id}`, { Subject: 'Vorsingen', Description: 'Mit Klavier' });
    await cell(/^Vorsingen 13:00–14:00/).waitFor();
    const alert = edit.getByRole('alert');
    const lose = (route: Route) =>
      route.request().postData()?.includes('query BookingDetails(') ? route.abort() : route.fallback();
    await mine.page.route(/graphql$/, lose);
    await save();
    await alert.getByText(/^Der Server ist nicht zu erreichen/).waitFor();
    await mine.page.unroute(/graphql$/, lose);
    await save();
    await alert.getByText(/^Jemand hat das um \d\d:\d\d geändert:$/).waitFor();
    expect(await alert.getByRole('listitem').allInnerTexts()).toEqual([
      'Titel: „Konzertprobe“ → „Vorsingen“',
      'Bemerkung: leer → „Mit Klavier“',
    ]);
    await seen('a booking that others have changed too');
    expect([await field('Titel').inputValue(), await field('Bemerkung').inputValue()]).toEqual([
      'Generalprobe',
      'Mit Klavier',
    ]);
    await save();
    await cell(/^Generalprobe 13:00–14:00/).waitFor();
    expect(await send('GET', `bookings/${id}`)).toMatchObject({ Subject: 'Generalprobe', Description: 'Mit Klavier' });
  });

  test('a booking that somebody has cancelled meanwhile is not saved, but booked anew with what was typed', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await openForm();
    await fill({ Titel: 'Planung', Datum: day, Von: '17:00', Bis: '18:00' });
    await press();
    await cell(/^Planung 17:00–18:00/).click();
    await mine.page.getByRole('dialog', { name: 'Planung' }).getByRole('button', { name: 'Ändern' }).click();
    const edit = mine.page.getByRole('dialog', { name: 'Buchung ändern' });
    await edit.getByLabel('Titel', { exact: true }).fill('Planungsrunde');
    const id = new URL(mine.page.url()).searchParams.get('booking')?.replace('booking_', '');
    await send('PATCH', `bookings/${id}`, { SetupMinutes: 15 });
    await send('DELETE', `bookings/${id}`);
    const save = edit.getByRole('button', { name: 'Speichern' });
    await save.click();
    const told = edit
      .getByRole('alert')
      .getByText('Diese Buchung ist abgesagt. Machen Sie eine neue.', { exact: true });
    await told.waitFor();
    await seen('a booking that was cancelled while it was edited');
    await mine.page.reload();
    await told.waitFor();
    expect(await save.count()).toBe(0);
    await edit.getByRole('button', { name: 'Mit diesen Angaben neu buchen' }).click();
    await form().waitFor();
    await press();
    await cell(/^Planungsrunde 17:00–18:00/).waitFor();
    const { Items } = await send('GET', `bookings?From=${day}T16:00:00Z&To=${day}T17:00:00Z&Occupying=true`);
    const [again] = (Items as { Id: number; Subject: string; SetupMinutes: number }[]).filter(
      ({ Subject }) => Subject === 'Planungsrunde',
    );
    expect(again?.SetupMinutes).toBe(15);
    await send('DELETE', `bookings/${again?.Id}`);
  });

  test('of a series whose date is cancelled meanwhile, that date alone is booked anew', async () => {
    await send('POST', 'bookings', {
      ResourceId: service.tenant.resources[2]?.id,
      Start: `${day}T16:00:00Z`,
      End: `${day}T17:00:00Z`,
      Subject: 'Reihe',
      OrganizerId: service.tenant.person('User').id,
      RecurrenceRule: 'FREQ=WEEKLY;COUNT=2',
    });
    await cell(/^Reihe 17:00–18:00/).click();
    await mine.page.getByRole('dialog', { name: 'Reihe' }).getByRole('button', { name: 'Ändern' }).click();
    const edit = mine.page.getByRole('dialog', { name: 'Buchung ändern' });
    await edit.getByLabel('Titel', { exact: true }).fill('Reihen');
    const id = new URL(mine.page.url()).searchParams.get('booking')?.replace('booking_', '');
    await send('DELETE', `bookings/${id}?Scope=All`);
    await edit.getByRole('button', { name: 'Speichern' }).click();
    await edit.getByRole('alert').getByText('Die übrigen Termine der Serie ändern Sie an einem von ihnen.').waitFor();
    await edit.getByRole('button', { name: 'Nur diesen Termin neu buchen' }).waitFor();
    await edit.locator('header').getByRole('button').click();
    await edit.waitFor({ state: 'detached' });
  });

  test('in a week each cell names its day, and so does a move by keys', async () => {
    const short = (on: string) =>
      new Intl.DateTimeFormat('de', { weekday: 'short', day: 'numeric', month: 'numeric', timeZone: 'UTC' }).format(
        Date.parse(on),
      );
    await booking(2, ['14:00', '15:00'], 'Chor');
    await mine.open(`?screen=rooms&day=${day}&view=week`);
    await cell(new RegExp(`^Chor 15:00–16:00 .*${short(day)}$`)).waitFor();
    await mine.page
      .getByRole('gridcell', { name: `frei 07:00–20:00, ${short(addDays(day, -1))}` })
      .first()
      .waitFor();
    await seen('a week');
    const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
    await mine.page.route(/graphql$/, async (route) => {
      if (route.request().postData()?.includes('mutation ChangeBooking')) await heard;
      await route.fallback();
    });
    await cell(/^Spät 18:45–19:45/).focus();
    await mine.page.keyboard.press('Shift+ArrowLeft');
    await mine.page.getByText(`R101, 18:30–19:30, ${short(day)}`, { exact: true }).waitFor();
    hear();
    await said(/^Verschoben/);
    await mine.page.unrouteAll({ behavior: 'wait' });
  });

  test('the list of a day has what is booked on that day in the zone of each room', async () => {
    const { db } = service.context;
    const mandator_id = service.tenant.mandatorId;
    const elsewhere = { mandator_id, name: 'Branch', time_zone: 'America/New_York' };
    const { id: location_id } = await db
      .insertInto('location')
      .values(elsewhere)
      .returning('id')
      .executeTakeFirstOrThrow();
    const room = { mandator_id, location_id, name: 'NY 1', equipment: [] };
    const { id } = await db.insertInto('resource').values(room).returning('id').executeTakeFirstOrThrow();
    // In New York these are the evening before, and the morning.
    for (const [hour, Subject] of [
      ['01', 'Gestern'],
      ['14', 'Heute'],
    ])
      await send('POST', 'bookings', {
        ResourceId: id,
        Start: `${day}T${hour}:00:00Z`,
        End: `${day}T${hour}:30:00Z`,
        Subject,
      });
    await mine.open(`?screen=rooms&day=${day}&as=list`);
    await mine.page.getByRole('cell', { name: 'Heute' }).waitFor();
    expect(await mine.page.getByRole('cell', { name: 'Gestern' }).count()).toBe(0);
  });

  test('a booking that ends after midnight gets the next day as its last one', async () => {
    await mine.open(`?screen=rooms&day=${day}`);
    await openForm();
    await form().getByLabel('Raum', { exact: true }).selectOption({ label: 'Keller · Immer offen' });
    await fill({ Titel: 'Sternwarte', Datum: day, Von: '22:00', Bis: '01:00' });
    await form().getByText('Das Ende liegt nicht nach dem Beginn.').waitFor();
    await fill({ 'Letzter Tag': addDays(day, 1) });
    await press();
    await said(/^Gebucht: Keller, .* 22:00–.* 01:00/);
  });

  test('an address with a date that no calendar has shows a day', async () => {
    await mine.open('?screen=rooms&day=2031-02-30');
    await mine.page.getByRole('gridcell').first().waitFor();
    await seen('an address with an impossible date');
  });
});
