/** Door signs: the state of each and what it shows now, live; to pair, change and revoke them. */
import { useEffect, useState } from 'preact/hooks';
import { go, leave, place } from '../address.ts';
import { FollowSignsDocument, type SignFragment } from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { useProblemCounts } from '../open-problems.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { nameColumn, table } from '../parts/table.ts';
import { readRooms } from '../rooms/store.ts';
import { batteryOf, Details, stateOf } from '../signs/details.ts';
import { SignForm } from '../signs/form.ts';
import { Preview, useSnapshots } from '../signs/preview.ts';
import { labels } from '../texts/members.ts';
import { t as shell } from '../texts/shell.ts';
import { t } from '../texts/signs.ts';

type Signs = ReadonlyMap<string, SignFragment>;
type Masters = Awaited<ReturnType<typeof readRooms>>;

/** All signs, kept up to date; undefined until they are read. */
function useSigns() {
  const [signs, setSigns] = useState<Signs>();
  const put = (some: readonly SignFragment[]) =>
    setSigns((before) => new Map([...(before ?? []), ...some.map((sign) => [sign.id, sign] as const)]));
  useEffect(() => follow(FollowSignsDocument, {}, { next: ({ displays }) => put(displays) }), []);
  return { signs, put };
}

type Problems = ReadonlyMap<string, number>;
const problemsOf = (problems: Problems, { id }: SignFragment): string => {
  const count = problems.get(id);
  return count ? t().problems(count) : '';
};

const List: Component<{ signs: readonly SignFragment[]; problems: Problems }> = ({ signs, problems }) => {
  const open = (id: string) => () => go({ sign: id });
  return table({
    caption: t().title,
    name: 'door-signs',
    rows: signs,
    id: ({ id }) => id,
    columns: [
      nameColumn(labels().name, open),
      {
        key: 'state',
        title: t().state,
        value: stateOf,
        show: (sign) => (sign.silentSince ? html`<strong class="bad">${stateOf(sign)}</strong>` : stateOf(sign)),
      },
      { key: 'rooms', title: t().rooms, value: ({ resources }) => resources.map(({ name }) => name).join(', ') },
      { key: 'problems', title: t().reported, value: (sign) => problemsOf(problems, sign) },
      { key: 'battery', title: t().battery, value: batteryOf, align: 'end' },
      { key: 'program', title: t().program, value: ({ health }) => health?.program ?? '' },
      { key: 'note', title: t().note, value: ({ health }) => health?.note ?? '' },
    ],
  });
};

const Office: Component<{ masters: Masters }> = ({ masters: { rooms, locations } }) => {
  const { signs, put } = useSigns();
  const problems = useProblemCounts(({ displayId }) => displayId);
  const pairing = useOpened<true>('pair');
  const editing = useOpened<true>('edit');
  const { view, revoked, sign: id } = place.value;
  const shown = [...(signs?.values() ?? [])].filter(({ revokedAt }) => revoked || !revokedAt);
  const placeOf = new Map(rooms.map((room) => [room.id, room.locationId]));
  const needed = view === 'list' ? shown.filter((sign) => sign.id === id) : shown;
  const snapshots = useSnapshots(
    needed.flatMap(({ resources }) => resources.flatMap(({ resourceId }) => placeOf.get(resourceId) ?? [])),
  );
  const opened = id ? signs?.get(id) : undefined;
  const put1 = (sign: SignFragment) => put([sign]);
  const close = () => leave('sign');
  const button = (name: string, text: string) =>
    html`<button type="button" aria-pressed=${(view ?? '') === name} onClick=${() => go({ view: name })}>${text}</button>`;
  let body: Child;
  if (!signs) body = html`<p class="state" aria-busy="true">${shell().loading}</p>`;
  else if (shown.length === 0) body = html`<p class="state">${t().none}</p>`;
  else if (view === 'list') body = h(List, { signs: shown, problems });
  else
    body = html`<ul class="signs">
      ${shown.map(
        (sign) => html`<li key=${sign.id} class="panel">
          <button type="button" class="link" onClick=${() => go({ sign: sign.id })}>${sign.name}</button>
          ${h(Preview, { sign, snapshots })}
          <p class=${sign.silentSince ? 'bad' : 'hint'}>${[stateOf(sign), batteryOf(sign), problemsOf(problems, sign)].filter(Boolean).join(' · ')}</p>
        </li>`,
      )}
    </ul>`;
  return html`
    <div class="tools">
      <div class="buttons" role="group" aria-label=${t().view}>${button('', t().previews)}${button('list', t().list)}</div>
      ${h(Check, { label: t().withRevoked, checked: Boolean(revoked), onChange: (is) => go({ revoked: is ? 'yes' : undefined }, 'replace') })}
      <span class="gap"></span>
      <button type="button" class="main" onClick=${() => pairing.show(true)}>${t().pair} …</button>
    </div>
    ${body}
    ${pairing.opened && h(SignForm, { rooms, locations, onSaved: put1, onClose: pairing.close })}
    ${id && signs && !editing.opened && h(Details, { sign: opened, snapshots, onEdit: () => editing.show(true), onRevoked: put1, onClose: close })}
    ${opened && editing.opened && h(SignForm, { key: opened.id, sign: opened, rooms, locations, onSaved: put1, onClose: editing.close })}
  `;
};

export const Screen: Component<object> = () => {
  const masters = useAsked(readRooms, []);
  return html`<div class="page">
    <h1>${t().title}</h1>
    ${showAsked(masters, (read) => h(Office, { masters: read }))}
  </div>`;
};
