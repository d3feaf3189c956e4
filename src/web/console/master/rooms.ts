/** The rooms of all locations: a table, and the form of the one that the address names. */
import { go, leave, place } from '../address.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { nameColumn, table } from '../parts/table.ts';
import { t } from '../texts/master.ts';
import { labels } from '../texts/members.ts';
import {
  choicesOf,
  type Location,
  type Named,
  nameIn,
  type Room,
  readLocations,
  readPolicyNames,
  readRooms,
} from './data.ts';
import { RoomForm } from './room-form.ts';

type Read = { rooms: Room[]; locations: Location[]; policies: Named[] };

const List: Component<Read & { onSaved: () => void }> = ({ rooms, locations, policies, onSaved }) => {
  const { location = '', active = '', record } = place.value;
  const shown = rooms.filter(
    (room) => (!location || room.locationId === location) && (!active || room.active === (active === 'yes')),
  );
  const opened = rooms.find(({ id }) => id === record);
  const states = Object.entries(t().states).map(([value, text]) => ({ value, text }));
  const close = () => leave('record');
  return html`
    <div class="tools">
      ${h(Field, { label: t().location, hideLabel: true, value: location, onInput: (id) => go({ location: id, page: undefined }, 'replace'), choices: [{ value: '', text: t().everywhere }, ...choicesOf(locations)] })}
      ${h(Field, { label: labels().active, hideLabel: true, value: active, onInput: (text) => go({ active: text, page: undefined }, 'replace'), choices: states })}
      <span class="gap"></span>
      <button type="button" class="main" disabled=${locations.length === 0} onClick=${() => go({ record: 'new' })}>${t().newRoom}</button>
    </div>
    ${
      rooms.length === 0
        ? html`<p class="state">${t().noRooms}</p>`
        : table({
            caption: t().parts.rooms,
            name: 'rooms',
            rows: shown,
            id: ({ id }) => id,
            columns: [
              nameColumn(t().room),
              { key: 'location', title: t().location, value: ({ locationId }) => nameIn(locations, locationId) },
              { key: 'kind', title: labels().kind, value: ({ kind }) => kind },
              {
                key: 'capacity',
                title: labels().capacity,
                align: 'end',
                value: ({ capacity }) => capacity,
              },
              {
                key: 'equipment',
                title: labels().equipment,
                value: ({ equipment }) => equipment.join(', '),
              },
              {
                key: 'policy',
                title: labels().policyId,
                value: ({ policyId }) => nameIn(policies, policyId),
              },
              { key: 'mailbox', title: labels().mailbox, value: ({ mailbox }) => mailbox },
              {
                key: 'state',
                title: labels().active,
                value: (room) => (room.active ? t().inUse : t().retired),
              },
            ],
          })
    }
    ${(record === 'new' || opened) && h(RoomForm, { key: record ?? '', room: opened ?? null, rooms, locations, policies, locationId: location, onSaved, onClose: close })}
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(async (stop): Promise<Read> => {
    const [rooms, locations, policies] = await Promise.all([
      readRooms(stop),
      readLocations(stop),
      readPolicyNames(stop),
    ]);
    return { rooms, locations, policies };
  }, []);
  return html`<div class="form">${showAsked(asked, (read) => h(List, { ...read, onSaved: asked.reload }))}</div>`;
};
