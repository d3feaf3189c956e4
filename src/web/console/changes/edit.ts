/** The form that changes one lesson, as a batch of its own, whose end it waits for. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { randomKey } from '../../random-key.ts';
import { act, ask, hasFault, type Refusal, Refused } from '../client.ts';
import { fromInput, toInput } from '../clock.ts';
import {
  BatchErrorsDocument,
  ChangeLessonDocument,
  FollowBatchDocument,
  type LessonChangeInput,
  type LessonStatus,
} from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { RefusedBox } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import type { Room } from '../rooms/store.ts';
import { t } from '../texts/changes.ts';
import { t as imports } from '../texts/timetables.ts';
import { hasEnded, stateText } from '../timetables/batch.ts';
import type { Lesson } from './lessons.ts';

type FormProperties = { lesson: Lesson; rooms: readonly Room[]; onClose: () => void };

const statuses: readonly LessonStatus[] = ['Geplant', 'Vertretung', 'Entfaellt'];
const namesIn = (text: string) =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);

/** What can be typed, as the fields show it. */
const valuesOf = ({ timeZone, status, resourceId, start, end, teachers, remark }: Lesson) => ({
  status: status as string,
  room: resourceId,
  start: toInput(timeZone, Date.parse(start)),
  end: toInput(timeZone, Date.parse(end)),
  teachers: (teachers ?? []).join(', '),
  remark: remark ?? '',
});
type Values = ReturnType<typeof valuesOf>;

/** Only the members that were changed. */
function changesOf(first: Values, typed: Values, timeZone: string, rooms: readonly Room[]): Partial<LessonChangeInput> {
  const is = (name: keyof Values) => typed[name] !== first[name];
  const at = (text: string) => new Date(fromInput(timeZone, text)).toISOString();
  return {
    ...(is('status') && { status: typed.status as LessonStatus }),
    ...(is('room') && {
      resourceId: typed.room,
      resourceName: rooms.find(({ id }) => id === typed.room)?.name ?? '',
    }),
    ...(is('start') && { start: at(typed.start) }),
    ...(is('end') && { end: at(typed.end) }),
    ...(is('teachers') && { teachers: namesIn(typed.teachers) }),
    ...(is('remark') && { remark: typed.remark || null }),
  };
}

/** Why a batch has failed. */
async function readFaults(batchId: string): Promise<string[]> {
  const { batch } = await ask(BatchErrorsDocument, { id: batchId, after: null });
  return (batch?.errors.nodes ?? []).map(({ code, message }) => {
    const known = imports().codes[code];
    return known ? `${known} (${message})` : message;
  });
}

export const LessonForm: Component<FormProperties> = ({ lesson, rooms, onClose }) => {
  const { timeZone, jobKey, lessonKey } = lesson;
  const [first] = useState(() => valuesOf(lesson));
  const [typed, setTyped] = useState(first);
  const [isSaving, setSaving] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const [faults, setFaults] = useState<readonly string[]>([]);
  const [idempotencyKey, setKey] = useState(randomKey);
  const stop = useRef<() => void>(undefined);
  useEffect(() => () => stop.current?.(), []);
  const enter = (name: keyof Values) => (text: string) => {
    setTyped((before) => ({ ...before, [name]: text }));
    setKey(randomKey());
  };

  async function tellFaults(batchId: string, state: string): Promise<void> {
    try {
      const found = await readFaults(batchId);
      setFaults(found.length > 0 ? found : [state]);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setRefusal(error.refusal);
    }
  }
  async function save(): Promise<void> {
    const wanted = changesOf(first, typed, timeZone, rooms);
    if (Object.keys(wanted).length === 0) {
      toast(t().nothing);
      onClose();
      return;
    }
    if (isSaving) return;
    setSaving(true);
    setFaults([]);
    const { done, refused } = await act(ChangeLessonDocument, {
      jobs: [{ jobKey, lessons: [{ lessonKey, ...wanted }] }],
      options: { idempotencyKey },
    });
    setRefusal(refused);
    // A refused call leaves the key unused, and an earlier one whose answer is lost may still be running.
    if (!refused || hasFault(refused, 'KeyUsed')) setKey(randomKey());
    if (!done) {
      setSaving(false);
      return;
    }
    const { id } = done.batch;
    stop.current = follow(
      FollowBatchDocument,
      { batchId: id },
      {
        next: ({ batchStatus }) => {
          if (!hasEnded(batchStatus)) return;
          stop.current?.();
          if (batchStatus.importStatus === 'LessonsCreated') {
            toast(t().saved);
            onClose();
            return;
          }
          setSaving(false);
          void tellFaults(id, stateText(batchStatus));
        },
      },
    );
  }
  const places = rooms.some(({ id }) => id === lesson.resourceId)
    ? rooms
    : [{ id: lesson.resourceId, name: lesson.resourceName, locationName: '' }, ...rooms];
  const severalLocations = new Set(rooms.map(({ locationId }) => locationId)).size > 1;
  const about = [lesson.subject ?? lesson.title, ...(lesson.classes ?? [])].filter(Boolean).join(', ');
  return h(Dialog, {
    title: t().editTitle,
    onClose,
    children: html`
      <form onSubmit=${submit(save)}>
        ${about && html`<p>${about}</p>`}
        ${h(Field, { label: t().status, value: typed.status, onInput: enter('status'), choices: statuses.map((value) => ({ value, text: t().statuses[value] })), autofocus: true })}
        ${h(Field, { label: t().room, value: typed.room, onInput: enter('room'), choices: places.map(({ id, name, locationName }) => ({ value: id, text: severalLocations && locationName ? `${name}, ${locationName}` : name })) })}
        <div class="fields">
          ${h(Field, { label: t().start, type: 'datetime-local', value: typed.start, onInput: enter('start'), required: true })}
          ${h(Field, { label: t().end, type: 'datetime-local', value: typed.end, onInput: enter('end'), required: true })}
        </div>
        ${h(Field, { label: t().teacher, value: typed.teachers, onInput: enter('teachers'), hint: t().teachersHint })}
        ${h(Field, { label: t().remark, value: typed.remark, onInput: enter('remark') })}
        <p class="hint">${t().untilImport}</p>
        ${h(RefusedBox, { refusal })}
        ${faults.length > 0 && html`<div class="refused" role="alert"><p>${t().failed}</p><ul>${faults.map((text) => html`<li>${text}</li>`)}</ul></div>`}
        <div class="buttons end">
          <button type="button" onClick=${onClose}>${t().stop}</button>
          <button class="main" disabled=${isSaving} aria-busy=${isSaving}>${isSaving ? t().saving : t().save}</button>
        </div>
      </form>
    `,
  });
};
