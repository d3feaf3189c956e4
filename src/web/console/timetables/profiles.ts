/** Profiles: how files are read, stored on the server under a name. One is chosen for this file, or made from its settings. */
import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { act, ask, type Refusal } from '../client.ts';
import {
  ChangeTimetableProfileDocument,
  CreateTimetableProfileDocument,
  DeleteTimetableProfileDocument,
  type ProfileFragment,
  TimetableProfilesDocument,
} from '../generated/graphql.ts';
import { useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { t as files } from '../texts/timetable-files.ts';
import { fillMapping, nameColumns } from './columns.ts';
import type { Draft, Work } from './draft.ts';
import { describeReading, type Reading, wrongLists } from './reading.ts';

type Location = { id: string; name: string };

const lineOf = (...words: (string | null | undefined)[]) => words.filter(Boolean).join(' ');

/** The profile's values as people type them. */
function readProfile({
  name,
  source,
  term,
  periods,
  rooms,
  sharedRooms,
}: ProfileFragment): Omit<Reading, 'since' | 'allowRemoval'> {
  const lines = (list: readonly string[] = []) => list.join('\n');
  return {
    profile: name,
    source: source ?? '',
    term: term?.name ?? '',
    from: term?.from ?? '',
    to: term?.to ?? '',
    holidays: lines(term?.holidays.map((one) => lineOf(one.from, one.to, one.name))),
    weeks: lines(term?.weeks.map((one) => lineOf(one.monday, one.name))),
    groups: lines(term?.groups.map((one) => `${one.name} = ${one.weeks.join(', ')}`)),
    grid: lines(periods.map(({ day, period, begin, end }) => `${day ? `${day}/` : ''}${period} ${begin} ${end}`)),
    rooms: lines(rooms.map((room) => lineOf(room.name, '=', room.resourceName))),
    sharedRooms: lines(sharedRooms),
  };
}

/** The members of REST under GraphQL's names. */
function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  const named = Object.entries(value).map(([name, inner]) => {
    const member = name === 'RessourceName' ? 'resourceName' : name.charAt(0).toLowerCase() + name.slice(1);
    return [member, inCamelCase(inner)];
  });
  return Object.fromEntries(named);
}

/** The settings of this file, except those that only concern this import. */
function inputOf({ format, sheets, work }: Draft, location: Location | undefined) {
  const { Profile: _, Since: __, AllowRemoval: ___, ...members } = describeReading(work.reading);
  return {
    source: null,
    term: null,
    ...(inCamelCase(members) as object),
    ...(format !== 'Json' && { format }),
    ...(format === 'Csv' && { mapping: inCamelCase(nameColumns(sheets[0]?.headers ?? [], work.mapping)) as object }),
    locationName: location?.name ?? null,
  };
}

export const Profiles: Component<{
  draft: Draft;
  locations: readonly Location[];
  isLocked: boolean;
  onChange: (change: Partial<Work>) => void;
}> = ({ draft, locations, isLocked, onChange }) => {
  const { sheets, work } = draft;
  const asked = useAsked(
    async (stop) => (await ask(TimetableProfilesDocument, {}, stop)).timetableProfiles?.nodes ?? [],
    [],
  );
  const [name, setName] = useState(work.reading.profile);
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const profiles = asked.data ?? [];
  const wanted = name.trim();
  const isSame = (one: { name: string }) => one.name.toLowerCase() === wanted.toLowerCase();
  const chosen = profiles.find((one) => one.name === work.reading.profile);

  function choose(id: string): void {
    const profile = profiles.find((one) => one.id === id);
    setName(profile?.name ?? '');
    if (!profile) {
      onChange({ reading: { ...work.reading, profile: '' } });
      return;
    }
    const location = locations.find((one) => one.name === profile.locationName);
    onChange({
      reading: { ...work.reading, ...readProfile(profile) },
      mapping: fillMapping(sheets[0]?.headers ?? [], work.mapping, profile.mapping),
      ...(location && { locationId: location.id }),
    });
  }
  async function change(doing: () => Promise<{ refused?: Refusal }>, said: string): Promise<boolean> {
    setBusy(true);
    const { refused } = await doing();
    setRefusal(refused);
    setBusy(false);
    asked.reload();
    if (!refused) toast(said);
    return !refused;
  }
  async function save(): Promise<void> {
    const known = profiles.find(isSame);
    const location = locations.find(({ id }) => id === work.locationId) ?? locations[0];
    const input = inputOf(draft, location);
    const isKept = await change(
      () =>
        known
          ? act(ChangeTimetableProfileDocument, { id: known.id, version: known.version, input })
          : act(CreateTimetableProfileDocument, { input: { ...input, name: wanted } }),
      files().profileKept(wanted),
    );
    if (isKept) onChange({ reading: { ...work.reading, profile: known?.name ?? wanted } });
  }
  async function remove({ id, version }: ProfileFragment): Promise<void> {
    const isGone = await change(() => act(DeleteTimetableProfileDocument, { id, version }), files().profileDeleted);
    if (!isGone) return;
    setName('');
    onChange({ reading: { ...work.reading, profile: '' } });
  }
  const isOff = isLocked || isBusy;
  // The settings name the lines.
  const isWrong = wrongLists(work.reading).length > 0;
  return html`
    <div class="fields">
      ${h(Field, {
        label: files().profile,
        hint: files().profileHint,
        value: chosen?.id ?? '',
        choices: [
          { value: '', text: files().noProfile },
          ...profiles.map((one) => ({ value: one.id, text: one.name })),
        ],
        disabled: isOff,
        onInput: choose,
      })}
      ${h(Field, {
        label: files().profileName,
        value: name,
        maxLength: longest.profile,
        disabled: isOff,
        onInput: setName,
      })}
    </div>
    <p class="buttons">
      <button type="button" disabled=${isOff || isWrong || wanted === ''} onClick=${() => void save()}>${profiles.some(isSame) ? files().replaceProfile : files().keepProfile}</button>
      ${chosen && html`<button type="button" disabled=${isOff} onClick=${() => void remove(chosen)}>${files().deleteProfile}</button>`}
    </p>
    ${h(RefusedBox, { refusal: refusal ?? asked.refusal })}
  `;
};
