/** Opening hours of a location or a room: the week, the exceptions, and a preview of the resulting hours. */
import { line } from '../../bidi.ts';
import { go, place } from '../address.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { t } from '../texts/hours.ts';
import { type Location, type Room, readLocations, readRooms } from './data.ts';
import { Exceptions } from './exceptions.ts';
import { ownerOf } from './owner.ts';
import { Preview } from './preview.ts';
import { Weekly } from './weekly.ts';

const Lists: Component<{ location: Location; room: Room | undefined }> = ({ location, room }) => {
  const owner = ownerOf(location, room);
  const asked = useAsked(owner.read, []);
  return html`<div class="form">${showAsked(asked, ({ rules, exceptions }) => {
    if (!rules || !exceptions) return html`<p class="state">${t().gone}</p>`;
    const state = { locationId: location.id, roomId: room?.id, timeZone: location.timeZone };
    return html`
      ${h(Weekly, { key: `r${rules.version}`, owner, rules, onSaved: asked.reload })}
      ${h(Exceptions, { owner, exceptions, onSaved: asked.reload })}
      ${h(Preview, { key: `${rules.version} ${exceptions.version}`, ...state })}
    `;
  })}</div>`;
};

const Chosen: Component<{ locations: readonly Location[]; rooms: readonly Room[] }> = ({ locations, rooms }) => {
  const wanted = place.value['of'] ?? '';
  const room = rooms.find(({ id }) => id === wanted);
  const location = locations.find(({ id }) => id === (room?.locationId ?? wanted)) ?? locations[0];
  if (!location) return html`<p class="state">${t().noLocations}</p>`;
  const choices = locations.flatMap(({ id, name }) => [
    { value: id, text: name },
    ...rooms
      .filter(({ locationId, active }) => locationId === id && active)
      .map((each) => ({ value: each.id, text: line`${name} · ${each.name}` })),
  ]);
  const of = room?.id ?? location.id;
  return html`
    <div class="tools">
      ${h(Field, { label: t().of, value: of, onInput: (id) => go({ of: id, filter: undefined, sort: undefined, page: undefined }), choices })}
      <small>${t().zone(location.timeZone)}</small>
    </div>
    ${h(Lists, { key: of, location, room })}
  `;
};

export const Screen: Component<object> = () => {
  const asked = useAsked(async (stop) => {
    const [locations, rooms] = await Promise.all([readLocations(stop), readRooms(stop)]);
    return { locations: locations.filter(({ active }) => active), rooms };
  }, []);
  return html`<div class="form">${showAsked(asked, (read) => h(Chosen, read))}</div>`;
};
