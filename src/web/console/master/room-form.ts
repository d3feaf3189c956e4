/** The form of a room: creates, changes, moves and retires it, and takes it back into use. */
import { longest } from '../../../names.ts';
import { act, ask } from '../client.ts';
import {
  type CalendarEdits,
  type CalendarWriting,
  ChangeResourceDocument,
  type ChangeResourceInput,
  CreateResourceDocument,
  MasterRoomDocument,
} from '../generated/graphql.ts';
import type { FieldProperties } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { toastRefusal } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';
import {
  type CalendarRule,
  choicesOf,
  choicesOfRule,
  type Location,
  type Named,
  nameIn,
  numberOf,
  type Room,
  textOf,
} from './data.ts';
import { addressHint, memberField } from './list.ts';
import { RecordDialog, useRecord } from './record.ts';
import { Retirement } from './retire.ts';

type Values = {
  name: string;
  locationId: string;
  kind: string;
  capacity: string;
  equipment: string;
  mailbox: string;
  calendarWriting: CalendarWriting | '';
  calendarEdits: CalendarEdits | '';
  declineConflicts: 'Yes' | 'No' | '';
  checkInMinutes: string;
  policyId: string;
};

const fields = [
  'name',
  'locationId',
  'kind',
  'capacity',
  'equipment',
  'mailbox',
  'calendarWriting',
  'calendarEdits',
  'declineConflicts',
  'checkInMinutes',
  'policyId',
];

const answerOf = (yes: boolean | null | undefined) => (yes == null ? '' : yes ? 'Yes' : 'No');

/** The input of the API for what was typed; only the members that are present. */
function inputOf({
  capacity,
  equipment,
  mailbox,
  calendarWriting,
  calendarEdits,
  declineConflicts,
  checkInMinutes,
  policyId,
  ...plain
}: Partial<Values>): ChangeResourceInput {
  const items = (text: string) => text.split(',').flatMap((item) => item.trim() || []);
  return {
    ...plain,
    ...(capacity !== undefined && { capacity: numberOf(capacity) }),
    ...(equipment !== undefined && { equipment: [...new Set(items(equipment))] }),
    ...(mailbox !== undefined && { mailbox: mailbox.trim() || null }),
    ...(calendarWriting !== undefined && { calendarWriting: calendarWriting || null }),
    ...(calendarEdits !== undefined && { calendarEdits: calendarEdits || null }),
    ...(declineConflicts !== undefined && { declineConflicts: declineConflicts ? declineConflicts === 'Yes' : null }),
    ...(checkInMinutes !== undefined && { checkInMinutes: numberOf(checkInMinutes) }),
    ...(policyId !== undefined && { policyId: policyId || null }),
  };
}

type RoomFormProperties = {
  room: Room | null;
  rooms: readonly Room[];
  locations: readonly Location[];
  policies: readonly Named[];
  /** The location of a new room. */
  locationId: string;
  onSaved: () => void;
  onClose: () => void;
};

export const RoomForm: Component<RoomFormProperties> = (properties) => {
  const { room, rooms, locations, policies, onSaved, onClose } = properties;
  const retiring = useOpened<true>('retire');
  const inUse = locations.filter(({ active, id }) => active || id === room?.locationId);
  const change = ({ id, version }: Room, input: ChangeResourceInput) =>
    act(ChangeResourceDocument, { id, version, input });
  const draft = useRecord<Values, Room>({
    record: room,
    subject: 'Resource',
    valuesOf: (read) => ({
      name: read?.name ?? '',
      locationId: read?.locationId ?? (properties.locationId || inUse[0]?.id) ?? '',
      kind: read?.kind ?? 'Room',
      capacity: textOf(read?.capacity),
      equipment: read?.equipment.join(', ') ?? '',
      mailbox: textOf(read?.mailbox),
      calendarWriting: read?.calendarWriting ?? '',
      calendarEdits: read?.calendarEdits ?? '',
      declineConflicts: answerOf(read?.declineConflicts),
      checkInMinutes: textOf(read?.checkInMinutes),
      policyId: textOf(read?.policyId),
    }),
    read: async (id) => (await ask(MasterRoomDocument, { id })).resource,
    create: ({ name, locationId, ...others }) =>
      act(CreateResourceDocument, { input: { ...inputOf(others), name, locationId } }),
    change: (read, changes) => change(read, inputOf(changes)),
    onSaved,
  });
  const { base, values } = draft;
  const setActive = async (read: Room, active: boolean) => {
    const { done, refused } = await change(read, { active });
    if (refused) return toastRefusal(refused);
    toast(t().changed(done.name), { undo: () => void setActive(done, !active) });
    onSaved();
    onClose();
  };
  const input = (member: keyof Values, more: Partial<FieldProperties> = {}) => memberField(draft, member, more);
  const rule = (member: CalendarRule) =>
    input(member, { choices: [{ value: '', text: t().asSchool }, ...choicesOfRule(member)] });
  const isMoving = base && values.locationId !== base.locationId;
  if (base && retiring.opened)
    return h(Retirement, {
      room: base,
      rooms,
      locations,
      onDone: onSaved,
      onClose: () => {
        retiring.close();
        onClose();
      },
    });
  return h(RecordDialog, {
    title: base?.name ?? t().newRoom,
    draft,
    fields,
    onClose,
    children: html`
      ${input('name', { required: true, autofocus: true, maxLength: longest.name })}
      ${input('locationId', { choices: choicesOf(inUse) })}
      ${isMoving && html`<p class="hint">${t().moves(nameIn(locations, base.locationId), nameIn(locations, values.locationId))}</p>`}
      <div class="fields">
        ${input('kind', { hint: t().kindHint, maxLength: longest.kind, suggestions: [...new Set(rooms.map(({ kind }) => kind))].sort() })}
        ${input('capacity', { type: 'number', min: 0 })}
      </div>
      ${input('equipment', { hint: t().equipmentHint })}
      ${input('mailbox', { hint: t().mailboxHint, type: 'email' })}
      <div class="fields">${rule('calendarWriting')}${rule('calendarEdits')}</div>
      ${rule('declineConflicts')}
      ${input('checkInMinutes', { hint: t().checkInHint, type: 'number', min: 1 })}
      ${input('policyId', { choices: [{ value: '', text: t().noPolicy }, ...choicesOf(policies)] })}
      ${base && addressHint(t().signAddress, `door-sign/${base.restId}`)}
    `,
    more:
      base &&
      html`
        ${
          base.active
            ? html`<button type="button" class="danger" onClick=${() => retiring.show(true)}>${t().retire}</button>`
            : html`
              <button type="button" onClick=${() => void setActive(base, true)}>${t().putBack}</button>
              <button type="button" onClick=${() => retiring.show(true)}>${t().clear}</button>`
        }
      `,
  });
};
