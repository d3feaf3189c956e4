/** Holiday calendars: of a file or an address, with their faults and the bookings that lie on their days. */
import { useState } from 'preact/hooks';
import { BadText } from '../../../timetable-files/text.ts';
import { addressWith, place } from '../address.ts';
import { act, ask } from '../client.ts';
import { moment } from '../clock.ts';
import {
  BookingsInHolidaysDocument,
  type ChangeHolidayCalendarInput,
  ChangeHolidaysDocument,
  CreateHolidaysDocument,
  DeleteHolidaysDocument,
  MasterHolidayCalendarsDocument,
  type MasterHolidaysFragment,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field, useFault } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { nameColumn } from '../parts/table.ts';
import { readText } from '../parts/text-file.ts';
import { t } from '../texts/holidays.ts';
import { t as shared } from '../texts/master.ts';
import { faultIn } from '../texts/timetable-files.ts';
import { choicesOf, type Location, nameIn, readAll, readLocations } from './data.ts';
import { useDeletion } from './delete.ts';
import { deleteButton, listTools, nameField, recordTable } from './list.ts';
import { RecordDialog, useRecord } from './record.ts';

type Calendar = MasterHolidaysFragment;
/** `ics`: the text of a file that was chosen. */
type Values = { name: string; locationId: string; closes: boolean; url: string; ics: string };

const readCalendars = (stop?: AbortSignal) =>
  readAll(async (after) => (await ask(MasterHolidayCalendarsDocument, { after }, stop)).holidayCalendars);

/** A file takes precedence over an address. */
function inputOf({ locationId, url, ics, ...plain }: Partial<Values>): ChangeHolidayCalendarInput {
  return {
    ...plain,
    ...(locationId !== undefined && { locationId: locationId || null }),
    ...(ics ? { ics } : url && { url: url.trim() }),
  };
}

const Touched: Component<{ calendar: Calendar }> = ({ calendar }) => {
  const asked = useAsked(
    async (stop) => (await ask(BookingsInHolidaysDocument, { calendarId: calendar.id }, stop)).bookingsInHolidays,
    [],
  );
  return html`<div>
    <h3>${t().touched}</h3>
    ${showAsked(asked, (found) =>
      !found || found.nodes.length === 0
        ? html`<p class="hint">${t().noneTouched}</p>`
        : html`
          <p class="hint">${t().touchedHint}</p>
          <ul>${found.nodes.map(
            ({ bookingId, resourceName, start, subject, holiday }) => html`<li key=${bookingId}>
              <a href=${addressWith({ screen: 'rooms', booking: bookingId }, {})}>${resourceName}, ${moment(start)}</a> ${subject ?? ''} (${holiday})
            </li>`,
          )}</ul>
          ${found.pageInfo.hasNextPage && html`<p>${t().more}</p>`}
        `,
    )}
  </div>`;
};

type FormProperties = {
  calendar: Calendar | null;
  locations: readonly Location[];
  onSaved: () => void;
  onDelete: (calendar: Calendar) => unknown;
  onClose: () => void;
};

const CalendarForm: Component<FormProperties> = ({ calendar, locations, onSaved, onDelete, onClose }) => {
  const [file, setFile] = useState('');
  const [badText, setBadText] = useState('');
  const draft = useRecord<Values, Calendar>({
    record: calendar,
    subject: 'HolidayCalendar',
    valuesOf: (read) => ({
      name: read?.name ?? '',
      locationId: read?.locationId ?? '',
      closes: read?.closes ?? true,
      url: read?.url ?? '',
      ics: '',
    }),
    read: async (id) => (await readCalendars()).find((each) => each.id === id),
    create: (values) => act(CreateHolidaysDocument, { input: { ...inputOf(values), name: values.name } }),
    change: ({ id, version }, changes) => act(ChangeHolidaysDocument, { id, version, input: inputOf(changes) }),
    onSaved,
  });
  const { base, values, set, refusal } = draft;
  const fault = useFault(badText || faultAt(refusal, 'ics'), values.ics);
  const choose = async (input: HTMLInputElement) => {
    const [chosen] = input.files ?? [];
    setBadText('');
    try {
      set({ ics: chosen ? await readText(chosen) : '' });
      setFile(chosen?.name ?? '');
    } catch (error) {
      if (!chosen || !(error instanceof BadText)) throw error;
      input.value = '';
      set({ ics: '' });
      setFile('');
      setBadText(faultIn(chosen.name, error));
    }
  };
  return h(RecordDialog, {
    title: base?.name ?? t().new,
    draft,
    fields: ['name', 'locationId', 'url', 'ics'],
    onClose,
    children: html`
      ${base?.fault && base.faultAt && html`<p class="refused" role="alert">${t().faultSince(moment(base.faultAt), base.fault)}</p>`}
      ${nameField(draft)}
      ${h(Field, { label: shared().location, value: values.locationId, onInput: (locationId) => set({ locationId }), choices: [{ value: '', text: t().everywhere }, ...choicesOf(locations)], fault: faultAt(refusal, 'locationId') })}
      ${h(Check, { label: t().closes, checked: values.closes, onChange: (closes) => set({ closes }), hint: t().closesHint })}
      <div class="field ${fault ? 'wrong' : ''}">
        <label for="ics">${t().file}</label>
        <input id="ics" type="file" accept=".ics,text/calendar" aria-invalid=${fault ? 'true' : undefined} onChange=${(event: Event) => void choose(event.currentTarget as HTMLInputElement)} />
        ${file && html`<p class="hint" role="status">${t().chosen(file)}</p>`}
        ${fault && html`<p class="fault" role="alert">${fault}</p>`}
      </div>
      ${h(Field, { label: t().url, type: 'url', value: values.url, onInput: (url) => set({ url }), hint: t().urlHint, disabled: values.ics !== '', fault: faultAt(refusal, 'url') })}
      ${base && html`<p class="hint">${t().keepFile}</p>${h(Touched, { calendar: base })}`}
    `,
    more: deleteButton(base, onDelete),
  });
};

export const Screen: Component<object> = () => {
  const { record } = place.value;
  const asked = useAsked(async (stop) => {
    const [calendars, locations] = await Promise.all([readCalendars(stop), readLocations(stop)]);
    return { calendars, locations };
  }, []);
  const { hidden, remove, close } = useDeletion((which) => act(DeleteHolidaysDocument, which), asked.reload);
  return html`
    <div class="form">
      ${listTools(t().new, t().hint)}
      ${showAsked(asked, ({ calendars, locations }) => {
        const opened = calendars.find(({ id }) => id === record);
        const state = { locations, onSaved: asked.reload, onDelete: remove, onClose: close };
        return html`
          ${recordTable({
            caption: shared().parts.holidays,
            name: 'holidays',
            rows: calendars,
            none: t().none,
            hidden,
            columns: [
              nameColumn(t().calendar),
              {
                key: 'location',
                title: shared().location,
                value: ({ locationId }) => nameIn(locations, locationId) || t().everywhere,
              },
              { key: 'closes', title: t().effect, value: ({ closes }) => (closes ? t().shuts : t().shows) },
              { key: 'source', title: t().source, value: ({ url }) => url ?? t().file },
              {
                key: 'read',
                title: t().readAt,
                value: ({ readAt }) => readAt,
                show: ({ readAt, fault, faultAt: since }) =>
                  fault && since ? t().faultSince(moment(since), fault) : readAt ? moment(readAt) : t().notYet,
              },
            ],
          })}
          ${(record === 'new' || opened) && h(CalendarForm, { key: record ?? '', calendar: opened ?? null, ...state })}
        `;
      })}
    </div>
  `;
};
