/** The locations: a table, and the form of the one that the address names. */
import { go, leave, place } from '../address.ts';
import { act, ask } from '../client.ts';
import { ownZone } from '../clock.ts';
import { ChangeLocationDocument, CreateLocationDocument, MasterLocationDocument } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { faultAt } from '../parts/refused.ts';
import { nameColumn } from '../parts/table.ts';
import { t } from '../texts/master.ts';
import { labels } from '../texts/members.ts';
import { type Location, readLocations, readRooms } from './data.ts';
import { addressHint, listTools, nameField, recordTable } from './list.ts';
import { RecordDialog, useRecord } from './record.ts';

type Values = { name: string; timeZone: string; active: boolean };
type FormProperties = { location: Location | null; onSaved: () => void; onClose: () => void };

const zones = Intl.supportedValuesOf('timeZone');

const LocationForm: Component<FormProperties> = ({ location, onSaved, onClose }) => {
  const draft = useRecord<Values, Location>({
    record: location,
    subject: 'Location',
    valuesOf: (read) => ({ name: read?.name ?? '', timeZone: read?.timeZone ?? ownZone, active: read?.active ?? true }),
    read: async (id) => (await ask(MasterLocationDocument, { id })).location,
    create: ({ name, timeZone }) => act(CreateLocationDocument, { input: { name, timeZone } }),
    change: ({ id, version }, input) => act(ChangeLocationDocument, { id, version, input }),
    onSaved,
  });
  const { base, values, set, refusal } = draft;
  return h(RecordDialog, {
    title: base?.name ?? t().newLocation,
    draft,
    fields: ['name', 'timeZone', 'active'],
    onClose,
    children: html`
      ${nameField(draft)}
      ${h(Field, { label: labels().timeZone, value: values.timeZone, onInput: (timeZone) => set({ timeZone }), required: true, hint: t().zoneHint, suggestions: zones, fault: faultAt(refusal, 'timeZone') })}
      ${base && h(Check, { label: labels().active, checked: values.active, onChange: (active) => set({ active }), hint: t().retireLocation })}
      ${base && addressHint(t().boardAddress, `board/${base.restId}`)}
    `,
  });
};

type Row = Location & { rooms: number };

const List: Component<{ rows: readonly Row[]; onSaved: () => void }> = ({ rows, onSaved }) => {
  const { record } = place.value;
  const opened = rows.find(({ id }) => id === record);
  return html`
    ${listTools(t().newLocation)}
    ${recordTable({
      caption: t().parts.locations,
      name: 'locations',
      rows,
      none: t().noLocations,
      columns: [
        nameColumn(t().location),
        { key: 'zone', title: labels().timeZone, value: ({ timeZone }) => timeZone },
        {
          key: 'rooms',
          title: t().roomCount,
          value: ({ rooms }) => rooms,
          show: ({ id, rooms }) =>
            html`<button type="button" class="link" onClick=${() => go({ part: 'rooms', location: id, filter: undefined, sort: undefined, page: undefined })}>${t().showRooms(rooms)}</button>`,
        },
        {
          key: 'state',
          title: labels().active,
          value: ({ active }) => (active ? t().inUse : t().retired),
        },
      ],
    })}
    ${(record === 'new' || opened) && h(LocationForm, { key: record ?? '', location: opened ?? null, onSaved, onClose: () => leave('record') })}
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(async (stop): Promise<Row[]> => {
    const [locations, rooms] = await Promise.all([readLocations(stop), readRooms(stop)]);
    return locations.map((location) => ({
      ...location,
      rooms: rooms.filter(({ locationId }) => locationId === location.id).length,
    }));
  }, []);
  return html`<div class="form">${showAsked(asked, (rows) => h(List, { rows, onSaved: asked.reload }))}</div>`;
};
