/** Chooses the organizer of a booking. Persons who may not book for others do not see it. */

import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { line } from '../../bidi.ts';
import { ask, pages } from '../client.ts';
import { BookersForOthersDocument, OrganizersDocument } from '../generated/graphql.ts';
import { useAsked } from '../parts/asked.ts';
import { Field, type FieldProperties } from '../parts/field.ts';
import { type Component, h } from '../parts/html.ts';
import { person } from '../session.ts';
import { t } from '../texts/rooms.ts';

/** `unknown`: no person has the typed name. */
export type ForWhom = { typed?: string; id?: string; unknown?: true };
type OrganizerProperties = { whom: ForWhom; onChange: (whom: ForWhom) => void; fault: FieldProperties['fault'] };

/** Whether the viewer is an Admin, or a policy allows it. */
async function mayBookForOthers(stop: AbortSignal): Promise<boolean> {
  const { role, groupIds = [] } = person.value ?? {};
  if (role === 'Admin' || groupIds.length === 0) return role === 'Admin';
  const read = async (after: string | null) => (await ask(BookersForOthersDocument, { after }, stop)).policies;
  for await (const policies of pages(read))
    if (policies.some((policy) => policy.mayBookForOthers.some((id) => groupIds.includes(id)))) return true;
  return false;
}

async function readOrganizers(search: string, stop: AbortSignal): Promise<{ id: string; text: string }[] | undefined> {
  if (!(await mayBookForOthers(stop))) return undefined;
  const { organizers } = await ask(OrganizersDocument, { filter: search ? { search } : {} }, stop);
  const found = organizers?.nodes ?? [];
  // Persons of the same name are distinguished.
  const isTwice = (name: string) => found.filter(({ displayName }) => displayName === name).length > 1;
  return found.map(({ personId, displayName }) => ({
    id: personId,
    text: isTwice(displayName) ? line`${displayName} (${personId})` : displayName,
  }));
}

export const Organizer: Component<OrganizerProperties> = ({ whom, onChange, fault }) => {
  const [typed, setTyped] = useState(whom.typed ?? '');
  const [known, setKnown] = useState<ReadonlyMap<string, string>>(new Map());
  // An entry of the list ends in the number of its person, which is not part of the name.
  const sought = typed.replace(/ \(\d+\)$/, '');
  const asked = useAsked(
    async (stop) => {
      const found = await readOrganizers(sought, stop);
      const names = new Map([...known, ...(found ?? []).map(({ text, id }) => [text.toLowerCase(), id] as const)]);
      setKnown(names);
      // Who may not book for others books for themselves, whatever the form has said before.
      if (!found) onChange({});
      else if (whom.id === undefined) tell(typed, names);
      // Another person may have the same name.
      else if (found.every(({ id }) => id !== whom.id)) onChange({ typed, unknown: true });
      return found;
    },
    [sought],
  );
  function tell(text: string, names: ReadonlyMap<string, string>): void {
    const id = names.get(text.trim().toLowerCase());
    onChange(text.trim() === '' ? {} : { typed: text, ...(id ? { id } : { unknown: true }) });
  }
  if (!asked.data) return null;
  return h(Field, {
    label: t().organizer,
    value: typed,
    onInput: (text) => {
      setTyped(text);
      tell(text, known);
    },
    placeholder: person.value?.name ?? '',
    suggestions: asked.data.map(({ text }) => text),
    autocomplete: 'off',
    maxLength: longest.name,
    hint: t().organizerHint,
    fault,
  });
};
